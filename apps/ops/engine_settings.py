"""From the site's settings to the engines' configuration. The only reader of the ASR_* and LLM_* settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from inference.config import LlmConfig, RecognizerConfig, RemoteAsrConfig
from inference.models import ModelUnavailable, installed, installed_speech


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """The folder of the speech model, or why there is none in one line, which strangers may read: no path."""

    folder: Path | None
    why: str = ""


def speech_model() -> SpeechModel:
    """ASR_MODEL as a folder on this disk: a path, or a name under MODELS_DIR. Downloads nothing."""
    try:
        folder = installed_speech(settings.ASR_MODEL, settings.MODELS_DIR)
    except ModelUnavailable as exc:
        return SpeechModel(None, str(exc))
    if folder is None:
        return SpeechModel(
            None,
            f"Speech model {settings.ASR_MODEL!r} is not on this disk: "
            f"run `python manage.py models fetch {settings.ASR_MODEL}`.",
        )
    return SpeechModel(folder)


def require_speech_model_known() -> None:
    """One that is not here yet can wait; one that does not exist is a mistake. Raises ModelUnavailable."""
    try:
        installed_speech(settings.ASR_MODEL, settings.MODELS_DIR)
    except ModelUnavailable as exc:
        raise ModelUnavailable(f"ASR_MODEL={settings.ASR_MODEL!r}: {exc}") from exc


def why_no_speech() -> str:
    """Why no answer can be heard on this site, as speech_model says it; "" with a model or with servers."""
    return "" if settings.ASR_URLS else speech_model().why


def recognizer_config(
    *, at_once: int | None = None, threads: int | None = None, nice: int = 0
) -> RecognizerConfig | None:
    """How to run the recogniser; None with neither a model on this disk nor servers."""
    folder = speech_model().folder
    if folder is None and not settings.ASR_URLS:
        return None
    return RecognizerConfig(
        model_dir=folder,
        device=settings.ASR_DEVICE,
        threads=threads or settings.ASR_THREADS,
        at_once=at_once or settings.ASR_AT_ONCE,
        nice=nice,
        turn_model_dir=installed("smart-turn", settings.MODELS_DIR),
        remote=RemoteAsrConfig(
            urls=settings.ASR_URLS,
            model=settings.ASR_REMOTE_MODEL,
            api_key=settings.ASR_API_KEY,
            at_once=settings.ASR_REMOTE_AT_ONCE,
        ),
    )


def llm_config() -> LlmConfig:
    return LlmConfig(urls=settings.LLM_URLS, model=settings.LLM_MODEL, api_key=settings.LLM_API_KEY)
