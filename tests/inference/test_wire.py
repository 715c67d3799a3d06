"""What the recogniser and its worker process tell each other."""

from __future__ import annotations

import io
from dataclasses import asdict

import pytest

from inference.adapters import wire
from inference.assessment import Word
from inference.ports import Speech, Transcript


def test_a_request_and_its_answer_arrive_as_they_were_sent() -> None:
    speech = Speech(b"\1\0" * 9, "zh", ("Kafka", "卡夫卡"), True, False, 0.5, 0.7, 0.9)
    assert set(asdict(Speech(b"", None)).items()).isdisjoint(asdict(speech).items())
    message = wire.receive_blocking(io.BytesIO(wire.pack(wire.speech_header(speech, True), speech.pcm)))
    assert message is not None
    assert wire.speech_from(*message) == (speech, True)
    word = Word("no", 0.1, 0.2, 0.3, "know")
    transcript = Transcript("no", "zh", (word,), 0.3, True, 0.4, True, True, "know")
    answer = wire.receive_blocking(io.BytesIO(wire.pack(wire.transcript_header(transcript))))
    assert answer is not None
    assert wire.transcript_from(answer[0]) == transcript


def test_a_message_that_is_too_long_is_none() -> None:
    with pytest.raises(wire.WireError):
        wire.receive_blocking(io.BytesIO(wire.pack({}, bytes(wire.MAX_BYTES))))
