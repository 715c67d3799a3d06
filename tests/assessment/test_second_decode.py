"""What the recogniser is told when an answer is read once more."""

from __future__ import annotations

import asyncio

import pytest

from apps.assessment.analysis import GivenAnswer, read_again
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.assessment import QuestionSpec
from inference.ports import Engines, Priority, Speech, Transcript
from inference.transcription import HeardUtterance

QUESTION = QuestionSpec("Tell me about a hard problem.", "en")
LIVE = Transcript("live", "en")


def test_the_second_decode_is_told_where_the_voice_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    recognizer, told = ScriptedRecognizer("again"), list[float | None]()
    decode = recognizer.transcribe

    async def noted(speech: Speech, priority: Priority) -> Transcript:
        told.append(speech.voice_end_s)
        return await decode(speech, priority)

    monkeypatch.setattr(recognizer, "transcribe", noted)
    live = (HeardUtterance(1, LIVE, 1.0, 4.0, speech_end_s=3.5), HeardUtterance(2, LIVE, 6.0, 7.0))
    given = GivenAnswer(1, QUESTION, "live", live, bytes(9 * 32_000))
    asyncio.run(read_again(Engines(LoudnessDetector(), recognizer, None), given))
    assert told == pytest.approx([2.7, 1.2])
