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


async def test_no_model_at_all_counts_as_text_mode_once() -> None:
    before = text_modes()
    room = EngineRoom(lambda: Engines(None, None, None, why_text="no model"))
    assert (await room.engines()) is (await room.engines())
    assert text_modes() == before + 1
    await room.aclose()
