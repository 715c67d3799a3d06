"""A slow machine and a quick one come to the same decisions at the same places of a recording."""

from __future__ import annotations

import math

from inference import events as ev
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.ports import Engines, Priority, Speech
from tests.bench.lockstep import ASR_S, Replayed, _Clock, _Paced, replay
from tests.bench.recordings import Recording
from tests.inference.sessions import LOUD, QUIET

SPOKEN = LOUD * 20 + QUIET * 10 + LOUD * 10
ANSWER = Recording("a", "made", "en", "Why?", "I did. It worked.", (), SPOKEN, 4.0, ((2.0, 1.0),))


async def _played(asr_s: float) -> Replayed:
    recognizer = ScriptedRecognizer("I did.", "It worked.", delay_s=asr_s)
    return await replay(Engines(voice=LoudnessDetector(), recognizer=recognizer, llm=None), ANSWER)


async def test_a_slow_decode_moves_no_clock() -> None:
    quick, slow = await _played(0.0), await _played(0.6)
    told = [[(at_s, event.type) for at_s, event in one.events] for one in (quick, slow)]
    assert told[0] == told[1]
    assert [event.reason for _, event in slow.of(ev.TurnEnded)] == ["silence"]
    assert slow.of(ev.TurnEnded)[0][0] > 4.0


async def test_words_come_as_late_as_a_decode_takes_on_the_audio_clock() -> None:
    played = await _played(0.0)
    shown = [(at_s, event.text) for at_s, event in played.of(ev.TranscriptPartial)]
    shown += [(at_s, event.text) for at_s, event in played.of(ev.TranscriptFinal)]
    shown_s = min(at_s for at_s, text in shown if text == "It worked.")
    assert 4.0 + ASR_S < shown_s < 4.0 + ASR_S + 0.5


async def test_a_correction_that_audio_waits_for_is_not_the_last_in_line() -> None:
    recognizer, clock = ScriptedRecognizer("I did."), _Clock()
    clock.move(math.inf)
    await _Paced(recognizer, clock).transcribe(Speech(LOUD, "en"), Priority.CORRECTION)
    assert [priority for priority, _ in recognizer.asked] == [Priority.EAGER]
