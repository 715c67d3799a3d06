"""The real voice detector on made speech, alone and for many streams at once."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import wave
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from inference.adapters.silero import SileroModel
from inference.audio import WINDOW_BYTES, AudioChunk
from inference.config import Endpointing
from inference.endpointing import Endpointer, Heard, Sound, Utterance, UtteranceEnded
from inference.hearing import Ears, sounds_of
from inference.ports import EngineUnavailable
from tests.inference.spoken import ROOT, Clip, clip, clips

FRAME_BYTES = 3200  # 100 ms, as the page sends it


async def chunks(pcm: bytes) -> AsyncIterator[AudioChunk]:
    for at in range(0, len(pcm), FRAME_BYTES):
        yield AudioChunk(at // 2, pcm[at : at + FRAME_BYTES])


@pytest.fixture
async def ears() -> AsyncIterator[Ears]:
    ears = Ears(SileroModel())
    yield ears
    await ears.aclose()


async def hear(ears: Ears, pcm: bytes) -> list[Sound]:
    return [sound async for sound in sounds_of(ears, Endpointer(Endpointing()), chunks(pcm))]


def ended(sounds: list[Sound]) -> list[Utterance]:
    return [sound.utterance for sound in sounds if isinstance(sound, UtteranceEnded)]


@pytest.mark.parametrize("name", ["silence", "pink_noise", "keyboard"])
async def test_what_is_no_speech_gives_no_utterance(ears: Ears, name: str) -> None:
    sounds = await hear(ears, clip(name).pcm)
    assert ended(sounds) == []
    assert all(isinstance(sound, Heard) and sound.speech_end_s is None for sound in sounds)


async def test_a_minute_of_silence_gives_no_utterance(ears: Ears) -> None:
    assert ended(await hear(ears, bytes(60 * 32_000))) == []


@pytest.mark.parametrize("spoken", [c for c in clips() if c.text], ids=lambda c: c.id)
async def test_the_end_of_speech_is_where_the_manifest_says(ears: Ears, spoken: Clip) -> None:
    last = ended(await hear(ears, spoken.pcm))[-1]
    allowed_s = 0.2 if spoken.id == "noisy" else 0.1
    assert abs(last.speech_end_s - spoken.speech_end_s) <= allowed_s


async def test_the_first_syllable_is_inside_the_utterance(ears: Ears) -> None:
    pcm = bytes(32_000) + clip("short_no").pcm
    (utterance,) = ended(await hear(ears, pcm))
    assert utterance.start_s <= 1.0
    assert utterance.pcm == pcm[round(utterance.start_s * 32_000) :][: len(utterance.pcm)]


async def test_the_first_syllable_is_heard_after_a_minute_of_silence_too(ears: Ears) -> None:
    (utterance,) = ended(await hear(ears, bytes(60 * 32_000) + clip("short_no").pcm))
    assert utterance.start_s <= 60.0


def heard_in(sounds: list[Sound]) -> list[Sound]:
    """Without the clock: how many windows it is told of at once depends on the machine."""
    return [sound for sound in sounds if not isinstance(sound, Heard)]


async def test_many_streams_at_once_hear_the_same_as_each_alone(ears: Ears) -> None:
    spoken = [clip(name).pcm for name in ("short_no", "injection", "off_topic", "keyboard", "noisy")] * 3
    alone = [heard_in(await hear(ears, pcm)) for pcm in spoken[:5]]
    together = await asyncio.gather(*(hear(ears, pcm) for pcm in spoken))
    assert [heard_in(sounds) for sounds in together] == alone * 3


async def test_a_stream_given_up_does_not_disturb_the_others(ears: Ears) -> None:
    pcm = clip("short_no").pcm
    expected = heard_in(await hear(ears, pcm))
    task = asyncio.create_task(hear(ears, clip("long_answer").pcm))
    await asyncio.sleep(0.02)
    task.cancel()
    assert heard_in(await hear(ears, pcm)) == expected


def test_a_window_of_another_length_is_refused() -> None:
    model = SileroModel()
    with pytest.raises(EngineUnavailable):
        model.score([model.fresh()], [bytes(100)])


def _original() -> Path:
    (folder,) = find_spec("faster_whisper").submodule_search_locations  # type: ignore[union-attr,misc]
    return Path(folder, "assets", "silero_vad_v6.onnx")


def test_many_streams_in_one_call_score_as_the_file_in_faster_whisper_does_alone() -> None:
    import onnxruntime

    model = SileroModel()
    original = onnxruntime.InferenceSession(str(_original()), providers=["CPUExecutionProvider"])
    spoken = [clip(name).pcm for name in ("short_no", "injection", "off_topic", "keyboard", "noisy")]
    count = 100
    states = [model.fresh() for _ in spoken]
    ours = [
        model.score(states, [pcm[at * WINDOW_BYTES : (at + 1) * WINDOW_BYTES] for pcm in spoken])
        for at in range(min(count, min(len(pcm) for pcm in spoken) // WINDOW_BYTES))
    ]
    for pcm, scores in zip(spoken, zip(*ours, strict=True), strict=True):
        samples = np.frombuffer(pcm, "<i2")[: len(scores) * 512].astype(np.float32).reshape(-1, 512) / 32768
        context, h, c = np.zeros(64, np.float32), *np.zeros((2, 1, 1, 128), np.float32)
        for window, score in zip(samples, scores, strict=True):
            heard = np.concatenate([context, window])[None]
            alone, h, c = original.run(None, {"input": heard, "h": h, "c": c})
            assert abs(float(alone[0]) - score) < 1e-5
            context = window[-64:]


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "silero.onnx").write_bytes(b"no model")
    with pytest.raises(EngineUnavailable, match="reinstall"):
        SileroModel(tmp_path / "silero.onnx")


def test_listening_never_imports_the_recogniser() -> None:
    code = (
        "import sys; from inference.adapters.silero import SileroModel; SileroModel();"
        "print([m for m in ('faster_whisper', 'ctranslate2', 'av', 'huggingface_hub') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_engine_reports_to_nobody(tmp_path: Path) -> None:
    """onnxruntime 1.32 keeps a device id and a queue of events under the home folder and sends them."""
    code = "from inference.adapters.silero import SileroModel; SileroModel()"
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=home, check=True)
    assert [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name] == []


def test_the_clips_are_16_khz_mono() -> None:
    for path in sorted((ROOT / "tests" / "audio" / "spoken").glob("*.wav")):
        with wave.open(str(path)) as audio:
            assert (audio.getframerate(), audio.getnchannels(), audio.getsampwidth()) == (16_000, 1, 2)
