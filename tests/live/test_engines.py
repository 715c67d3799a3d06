"""The engines of a process: a candidate is never refused for want of one, and every lesser way counts."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import REGISTRY

from apps.live.engines import EngineRoom
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.ports import Engines, EngineUnavailable


class _BrokenRecognizer(ScriptedRecognizer):
    async def start(self) -> None:
        raise EngineUnavailable("the model is damaged")


def text_modes() -> float:
    return REGISTRY.get_sample_value("viva_fallbacks_total", {"reason": "text_mode"}) or 0.0


async def test_a_model_that_does_not_load_leaves_typing_and_its_reason() -> None:
    before = text_modes()
    room = EngineRoom(lambda: Engines(LoudnessDetector(), _BrokenRecognizer("x"), None))
    engines = await room.engines()
    assert (engines.voice, engines.recognizer, engines.why_text) == (None, None, "the model is damaged")
    assert text_modes() == before + 1
    await room.aclose()


class _SlowRecognizer(ScriptedRecognizer):
    def __init__(self) -> None:
        super().__init__("x")
        self.loaded = asyncio.Event()

    async def start(self) -> None:
        await self.loaded.wait()


async def test_nobody_waits_for_a_model_that_still_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.live.engines.WELCOME_WITHIN_S", 0.05)
    slow = _SlowRecognizer()
    built = Engines(LoudnessDetector(), slow, None)
    room = EngineRoom(lambda: built)
    async with asyncio.timeout(2):
        assert await room.engines() is built  # the session has a recogniser, and voice is on
    slow.loaded.set()
    assert await room.start() is built
    await room.aclose()


class _BackLater(ScriptedRecognizer):
    """A server that is gone at first."""

    def __init__(self) -> None:
        super().__init__("x")
        self.starts = 0

    async def start(self) -> None:
        self.starts += 1
        if self.starts == 1:
            raise EngineUnavailable("no speech server answers")


async def test_who_hears_again_is_noticed_by_a_later_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.live.engines.TRY_AGAIN_S", 1000.0)
    recognizer = _BackLater()
    room = EngineRoom(lambda: Engines(None, recognizer, None))
    assert (await room.engines()).recognizer is None
    async with asyncio.timeout(60):
        while (await room.engines()).recognizer is None:
            await asyncio.sleep(0.01)
    assert recognizer.starts == 2
    await room.aclose()


async def test_no_model_at_all_counts_as_text_mode_once() -> None:
    before = text_modes()
    room = EngineRoom(lambda: Engines(None, None, None, why_text="no model"))
    assert (await room.engines()) is (await room.engines())
    assert text_modes() == before + 1
    await room.aclose()
