"""The engines of a process: a candidate is never refused for want of one, and every lesser way counts."""

from __future__ import annotations

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


async def test_no_model_at_all_counts_as_text_mode_once() -> None:
    before = text_modes()
    room = EngineRoom(lambda: Engines(None, None, None, why_text="no model"))
    assert (await room.engines()) is (await room.engines())
    assert text_modes() == before + 1
    await room.aclose()
