"""What the real detector and the real model make of sounds in which nobody speaks, and after them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from inference import events as ev
from inference.adapters.faster_whisper import FasterWhisperRecognizer
from inference.adapters.silero import SileroModel
from inference.audio import SAMPLE_RATE, AudioChunk
from inference.config import RecognizerConfig
from inference.hearing import Ears
from inference.ports import Engines
from inference.session import AnswerSession
from tests.inference.sessions import Played, brief
from tests.inference.spoken import clip

pytestmark = [pytest.mark.model, pytest.mark.asyncio(loop_scope="module")]

LENGTH_S = 30.0
CHUNK_BYTES = SAMPLE_RATE // 5
Sound = NDArray[np.float64]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def real(model_dir: Path) -> AsyncIterator[Engines]:
    ears, recognizer = Ears(SileroModel()), FasterWhisperRecognizer(RecognizerConfig(model_dir))
    yield Engines(voice=ears, recognizer=recognizer, llm=None)
    await ears.aclose()
    await recognizer.aclose()


def at(length_s: float) -> Sound:
    return np.arange(round(length_s * SAMPLE_RATE)) / SAMPLE_RATE


def pcm(sound: Sound, loud: float) -> bytes:
    return bytes((sound / np.abs(sound).max() * loud * 32767).astype("<i2").tobytes())


def fan() -> bytes:
    """Brown noise and the hum of a motor with its harmonics."""
    random = np.random.default_rng(5)
    brown = np.cumsum(random.standard_normal(round(LENGTH_S * SAMPLE_RATE)))
    brown -= np.convolve(brown, np.ones(801) / 801, mode="same")
    hum = sum(np.sin(2 * np.pi * 118 * k * at(LENGTH_S)) / k for k in range(1, 6))
    return pcm(brown / np.abs(brown).max() + 0.2 * hum, 0.2)


def music() -> bytes:
    """Chords and a melody over them, each note with harmonics that die away."""
    chords = [(220.0, 261.6, 329.6), (174.6, 220.0, 261.6), (261.6, 329.6, 392.0), (196.0, 246.9, 293.7)]
    melody = [659.3, 587.3, 523.3, 587.3, 659.3, 784.0, 659.3, 523.3]
    bars = [
        sum(_note(tone, 2.0) for tone in chords[bar % 4])
        + np.concatenate([_note(melody[(4 * bar + beat) % 8], 0.5) for beat in range(4)])
        for bar in range(round(LENGTH_S / 2))
    ]
    return pcm(np.concatenate(bars), 0.3)


def _note(tone: float, length_s: float) -> Sound:
    t = at(length_s)
    sound: Sound = np.exp(-2 * t) * sum(np.sin(2 * np.pi * tone * k * t) / k**1.5 for k in range(1, 7))
    return sound


def keyboard() -> bytes:
    typed = clip("keyboard").pcm
    return (typed * 30)[: round(LENGTH_S * SAMPLE_RATE) * 2]


def silence() -> bytes:
    return bytes(round(LENGTH_S * SAMPLE_RATE) * 2)


async def heard(engines: Engines, sound: bytes) -> list[ev.TranscriptFinal | ev.TranscriptPartial]:
    """Everything that was shown of an answer of this sound, which ends with Done."""
    session, told = AnswerSession(engines, brief()), Played()
    for start in range(0, len(sound), CHUNK_BYTES):
        session.push(AudioChunk(start // 2, sound[start : start + CHUNK_BYTES]))
    session.done()
    async with asyncio.timeout(120):
        running = asyncio.create_task(session.run())
        async for event in session.events:
            told.events.append(event)
        await running
    return [*told.of(ev.TranscriptFinal), *told.of(ev.TranscriptPartial)]


@pytest.mark.parametrize("sound", [silence, fan, keyboard, music])
async def test_half_a_minute_without_speech_is_no_text(real: Engines, sound: Callable[[], bytes]) -> None:
    assert [event.text for event in await heard(real, sound()) if event.text] == []


async def test_after_a_minute_of_silence_speech_is_heard_as_ever(real: Engines) -> None:
    told = await heard(real, bytes(60 * SAMPLE_RATE * 2) + clip("short_no").pcm + bytes(SAMPLE_RATE))
    assert "No" in next(event.text for event in told if event.text)
