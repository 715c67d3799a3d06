"""The real voice detector on made speech, alone and for many streams at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import wave
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from inference.adapters.silero import SileroVoiceDetector
from inference.audio import WINDOW_BYTES, AudioChunk, windows
from inference.config import Endpointing
from inference.endpointing import Heard, Sound, Utterance, UtteranceEnded, endpoint
from inference.ports import EngineUnavailable, RequestRejected
from tests.inference.spoken import ROOT, Clip, clip, clips

FRAME_BYTES = 3200  # 100 ms, as the page sends it


async def chunks(pcm: bytes) -> AsyncIterator[AudioChunk]:
    for at in range(0, len(pcm), FRAME_BYTES):
        yield AudioChunk(at // 2, pcm[at : at + FRAME_BYTES])


@pytest.fixture
async def detector() -> AsyncIterator[SileroVoiceDetector]:
    detector = SileroVoiceDetector()
    yield detector
    await detector.aclose()


async def hear(detector: SileroVoiceDetector, pcm: bytes) -> list[Sound]:
    return [s async for s in endpoint(windows(chunks(pcm)), detector.stream(), Endpointing())]


def ended(sounds: list[Sound]) -> list[Utterance]:
    return [sound.utterance for sound in sounds if isinstance(sound, UtteranceEnded)]


@pytest.mark.parametrize("name", ["silence", "pink_noise", "keyboard"])
async def test_what_is_no_speech_gives_no_utterance(detector: SileroVoiceDetector, name: str) -> None:
    sounds = await hear(detector, clip(name).pcm)
    assert ended(sounds) == []
    assert all(isinstance(sound, Heard) and sound.speech_end_s is None for sound in sounds)


async def test_a_minute_of_silence_gives_no_utterance(detector: SileroVoiceDetector) -> None:
    assert ended(await hear(detector, bytes(60 * 32_000))) == []


@pytest.mark.parametrize("spoken", [c for c in clips() if c.text], ids=lambda c: c.id)
async def test_the_end_of_speech_is_where_the_manifest_says(
    detector: SileroVoiceDetector, spoken: Clip
) -> None:
    last = ended(await hear(detector, spoken.pcm))[-1]
    allowed_s = 0.2 if spoken.id == "noisy" else 0.1
    assert abs(last.speech_end_s - spoken.speech_end_s) <= allowed_s


async def test_the_first_syllable_is_inside_the_utterance(detector: SileroVoiceDetector) -> None:
    pcm = bytes(32_000) + clip("short_no").pcm
    (utterance,) = ended(await hear(detector, pcm))
    assert utterance.start_s <= 1.0
    assert utterance.pcm == pcm[round(utterance.start_s * 32_000) :][: len(utterance.pcm)]


async def test_many_streams_at_once_hear_the_same_as_each_alone(detector: SileroVoiceDetector) -> None:
    spoken = [clip(name).pcm for name in ("short_no", "injection", "off_topic", "keyboard", "noisy")] * 3
    alone = [await hear(detector, pcm) for pcm in spoken[:5]]
    together = await asyncio.gather(*(hear(detector, pcm) for pcm in spoken))
    assert together == alone * 3


async def test_a_stream_given_up_does_not_disturb_the_others(detector: SileroVoiceDetector) -> None:
    pcm = clip("short_no").pcm
    expected = await hear(detector, pcm)
    task = asyncio.create_task(hear(detector, clip("long_answer").pcm))
    await asyncio.sleep(0.02)
    task.cancel()
    assert await hear(detector, pcm) == expected


async def test_a_window_of_another_length_is_refused(detector: SileroVoiceDetector) -> None:
    with pytest.raises(RequestRejected):
        await detector.stream().probability(AudioChunk(0, bytes(100)))


async def test_a_closed_detector_says_so() -> None:
    detector = SileroVoiceDetector()
    stream = detector.stream()
    await detector.aclose()
    with pytest.raises(EngineUnavailable):
        await stream.probability(AudioChunk(0, bytes(WINDOW_BYTES)))


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "silero.onnx").write_bytes(b"no model")
    with pytest.raises(EngineUnavailable, match="reinstall faster-whisper"):
        SileroVoiceDetector(tmp_path / "silero.onnx")


def test_listening_never_imports_the_recogniser() -> None:
    code = (
        "import sys; from inference.adapters.silero import SileroVoiceDetector; SileroVoiceDetector();"
        "print([m for m in ('faster_whisper', 'ctranslate2', 'av', 'huggingface_hub') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_engine_reports_to_nobody(tmp_path: Path) -> None:
    """onnxruntime 1.32 keeps a device id and a queue of events under the home folder and sends them."""
    code = "from inference.adapters.silero import SileroVoiceDetector; SileroVoiceDetector()"
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=home, check=True)
    assert [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name] == []


def test_the_clips_are_16_khz_mono() -> None:
    for path in sorted((ROOT / "tests" / "audio" / "spoken").glob("*.wav")):
        with wave.open(str(path)) as audio:
            assert (audio.getframerate(), audio.getnchannels(), audio.getsampwidth()) == (16_000, 1, 2)
