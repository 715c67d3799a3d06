from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from inference.adapters import smart_turn
from inference.adapters.smart_turn import HEARD_SAMPLES, MODEL_FILE, WAITING, SmartTurn, log_mel
from inference.ports import EngineUnavailable
from tests.inference.spoken import ROOT, clip

FOLDER = ROOT / "var" / "models" / "smart-turn"
fetched = pytest.mark.skipif(not (FOLDER / MODEL_FILE).is_file(), reason="`models fetch smart-turn` first")
SECOND = bytes(2 * 16_000)


class Stuck(SmartTurn):
    """Loads some model, and answers when it is let go."""

    def __init__(self, folder: Path, within_s: float) -> None:
        self.observed: list[str] = []
        super().__init__(folder, lambda name, _value: self.observed.append(name), within_s)
        self.let_go = threading.Event()

    def _score(self, pcm: bytes) -> float:
        assert self.let_go.wait(60)
        return 0.75


@pytest.fixture
def some_model(tmp_path: Path) -> Path:
    spec = find_spec("faster_whisper")
    assert spec is not None
    assert spec.submodule_search_locations
    assets = Path(spec.submodule_search_locations[0], "assets")
    shutil.copy(next(assets.glob("silero*.onnx")), tmp_path / MODEL_FILE)
    return tmp_path


@pytest.fixture
def stuck(some_model: Path) -> Iterator[Stuck]:
    model = Stuck(some_model, 0.05)
    yield model
    model.let_go.set()


def test_it_is_given_the_features_that_whisper_hears() -> None:
    from faster_whisper.feature_extractor import FeatureExtractor

    pcm = clip("star_quantified").pcm[: 2 * HEARD_SAMPLES]
    heard = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
    heard = (heard - heard.mean()) / np.sqrt(heard.var() + 1e-7)
    expected = FeatureExtractor(feature_size=80, chunk_length=8)(heard, padding=0)
    assert log_mel(pcm).shape == (80, 800)
    np.testing.assert_allclose(log_mel(pcm), expected[:, :800], atol=1e-3)


def test_it_hears_the_last_eight_seconds_of_a_turn_and_a_short_one_at_its_end() -> None:
    pcm = clip("star_quantified").pcm
    last = pcm[-2 * HEARD_SAMPLES :]
    np.testing.assert_array_equal(log_mel(pcm), log_mel(last))
    np.testing.assert_array_equal(log_mel(pcm[-32_000:]), log_mel(pcm[-32_000:].rjust(len(last), b"\0")))


async def test_a_late_answer_is_none_and_counted(stuck: Stuck) -> None:
    assert await stuck.over(SECOND) is None
    assert stuck.observed == ["fallback:turn_model"]


async def test_pauses_that_wait_are_bounded_and_the_next_is_answered_once_there_is_room(stuck: Stuck) -> None:
    for _ in range(WAITING):
        assert await stuck.over(SECOND) is None
    assert await stuck.over(SECOND) is None
    assert stuck._waiting == WAITING
    stuck.let_go.set()
    async with asyncio.timeout(60):
        while stuck._waiting:
            await asyncio.sleep(0.01)
    stuck._within_s = 60.0
    assert await stuck.over(SECOND) == 0.75


async def test_who_waits_when_it_closes_or_asks_afterwards_is_told_none(stuck: Stuck) -> None:
    stuck._within_s = 60.0
    first, waiting = (asyncio.create_task(stuck.over(SECOND)) for _ in range(2))
    async with asyncio.timeout(60):
        while stuck._waiting < 2:
            await asyncio.sleep(0.01)
        await stuck.aclose()
        assert await waiting is None
        assert await stuck.over(SECOND) is None
        stuck.let_go.set()
        assert await first == 0.75


async def test_one_that_breaks_is_none(some_model: Path) -> None:
    class Broken(SmartTurn):
        def _score(self, pcm: bytes) -> float:
            raise ValueError("no")

    assert await Broken(some_model).over(SECOND) is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / MODEL_FILE).write_bytes(b"no model")
    with pytest.raises(EngineUnavailable, match="fetch smart-turn again"):
        SmartTurn(tmp_path)


@fetched
async def test_an_open_clause_sounds_less_over_than_a_finished_answer() -> None:
    model = SmartTurn(FOLDER, within_s=60.0)
    assert smart_turn.THREADS == 1
    jargon, off_topic = clip("jargon"), clip("off_topic")
    whole = await model.over(jargon.pcm[: round((jargon.speech_end_s + 0.25) * 16_000) * 2])
    broken_off = await model.over(off_topic.pcm[: round(2.4 * 16_000) * 2])
    assert whole is not None
    assert broken_off is not None
    assert 0.0 <= broken_off < 0.5 < whole <= 1.0
    await model.aclose()
