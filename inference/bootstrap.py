"""Builds the engines a process uses. The only module that names adapters.

Each adapter is imported when it is wanted: a process that only judges never pays for speech.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from inference.audio import AudioUnreadable
from inference.config import LlmConfig, RecognizerConfig
from inference.hearing import Ears
from inference.nlp.score import assess, warm_up
from inference.observe import Observe, ignore
from inference.ports import Assessor, Engines, EngineUnavailable, Recognizer, TurnModel

if TYPE_CHECKING:
    from inference.adapters.decode import WindowComparison
    from inference.adapters.resampling import Resampler

__all__ = [
    "AudioUnreadable",
    "build_engines",
    "close_engines",
    "compare_windows",
    "read_audio",
    "resampler",
    "start_engines",
]

logger = logging.getLogger(__name__)

CLOSE_S = 5.0


def build_engines(
    recognizer: RecognizerConfig | None,
    llm: LlmConfig,
    why_text: str = "",
    observe: Observe = ignore,
) -> Engines:
    """What one process's sessions share. Without a speech model answers are typed, and `why_text` says why.

    Loads only the voice detector; `start_engines` has the recogniser ready first. They belong
    to the event loop that first uses them; end them with `close_engines`.
    """
    voice, problem = _voice(recognizer, observe)
    hears = recognizer is not None and voice is not None
    return Engines(
        voice=voice,
        recognizer=_recognizer(recognizer, observe) if recognizer is not None and hears else None,
        llm=_assessor(llm, observe) if llm.urls else None,
        why_text="" if hears else problem or why_text,
        turns=_turn_model(recognizer, observe) if recognizer is not None and hears else None,
    )


async def start_engines(engines: Engines) -> None:
    """Load the rules and the speech model now. Raises EngineUnavailable when the latter cannot be loaded."""
    await asyncio.to_thread(warm_up)
    if engines.recognizer is not None:
        await engines.recognizer.start()


async def close_engines(engines: Engines) -> None:
    """End every engine; one that does not end in time is left behind and named."""
    for engine in (engines.voice, engines.recognizer, engines.llm, engines.turns):
        if engine is None:
            continue
        try:
            async with asyncio.timeout(CLOSE_S):
                await engine.aclose()
        except TimeoutError:
            logger.warning("%s did not close within %.0f s", type(engine).__name__, CLOSE_S)


def read_audio(path: Path) -> bytes:
    """A file of any format that PyAV reads as 16 kHz mono PCM16. Raises AudioUnreadable."""
    from inference.adapters import audio_file  # noqa: PLC0415

    return audio_file.read_audio(path)


def resampler(rate: int) -> Resampler:
    """Takes a stream of PCM16 at `rate` to 16 kHz, piece by piece."""
    from inference.adapters import resampling  # noqa: PLC0415

    return resampling.Resampler(rate)


def compare_windows(config: RecognizerConfig, pcm: bytes, rounds: int = 5) -> WindowComparison:
    """Decode English speech with the cut and the 30 s window in turn, in this process: for benchmarks."""
    from inference.adapters import decode  # noqa: PLC0415

    if config.model_dir is None:
        raise EngineUnavailable("no speech model: fetch one with `manage.py models`")
    decoder = decode.Decoder(config.model_dir, config.device, config.compute_type, config.threads)
    return decode.compare_windows(decoder, pcm, "en", rounds)


def _voice(recognizer: RecognizerConfig | None, observe: Observe) -> tuple[Ears | None, str]:
    if recognizer is None:
        return None, ""
    from inference.adapters.silero import SileroModel  # noqa: PLC0415

    try:
        return Ears(SileroModel(), observe=observe), ""
    except EngineUnavailable as exc:
        logger.warning("speech is off: %s", exc)
        return None, str(exc)


def _turn_model(config: RecognizerConfig, observe: Observe) -> TurnModel | None:
    """Optional: without it, or with a file that does not load, the rules alone decide."""
    if config.turn_model_dir is None:
        return None
    from inference.adapters.smart_turn import SmartTurn  # noqa: PLC0415

    try:
        return SmartTurn(config.turn_model_dir, observe)
    except EngineUnavailable as exc:
        logger.warning("turns are told by the rules alone: %s", exc)
        observe("fallback:turn_model", 1)
        return None


def _recognizer(config: RecognizerConfig, observe: Observe) -> Recognizer:
    """The speech servers with the local model behind them, or the local model alone."""
    if not config.remote.urls:
        return _local_recognizer(config, observe)
    from inference.adapters.openai_asr import OpenAiRecognizer  # noqa: PLC0415
    from inference.adapters.recognizer_pool import RecognizerPool  # noqa: PLC0415

    servers = [OpenAiRecognizer(url, config.remote, observe) for url in config.remote.urls]
    local = _local_recognizer(config, observe) if config.model_dir is not None else None
    return RecognizerPool(servers, local, config.remote, observe)


def _local_recognizer(config: RecognizerConfig, observe: Observe) -> Recognizer:
    from inference.adapters.faster_whisper import FasterWhisperRecognizer  # noqa: PLC0415

    return FasterWhisperRecognizer(config, observe)


def _assessor(config: LlmConfig, observe: Observe) -> Assessor:
    from inference.adapters.openai_llm import OpenAiAssessor  # noqa: PLC0415

    return OpenAiAssessor(config, assess, observe)
