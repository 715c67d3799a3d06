"""What the model's readings come to when a guard doubts them, and clips on which it once went wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inference.adapters.decode import Decoder, _Reading
from inference.adapters.guards import Evidence
from inference.ports import Speech
from tests.inference.spoken import clip, clips, errors

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def decoder(model_dir: Path) -> Decoder:
    return Decoder(model_dir)


def test_a_doubted_reading_is_tried_again_only_while_there_is_time(decoder: Decoder) -> None:
    doubted = Speech(clip("short_no").pcm, "en", voiced_s=20.0)  # far too few words for so much voice
    hurried = decoder.decode(replace(doubted, answer_within_s=0.0))
    assert (hurried.low_confidence, hurried.untried, hurried.retried) == (True, True, False)
    assert "No" in hurried.text
    for within_s in (None, 600.0):
        patient = decoder.decode(replace(doubted, answer_within_s=within_s))
        assert (patient.low_confidence, patient.untried, patient.retried) == (True, False, True)


def test_words_that_end_well_before_the_voice_are_doubted(decoder: Decoder) -> None:
    spoken = clip("off_topic")
    whole = Speech(spoken.pcm, "en", voice_end_s=spoken.speech_end_s, answer_within_s=0.0)
    assert not decoder.decode(whole).low_confidence
    longer = replace(whole, pcm=spoken.pcm + bytes(64_000), voice_end_s=spoken.speech_end_s + 2.0)
    cut_off = decoder.decode(longer)
    assert (cut_off.low_confidence, cut_off.untried) == (True, True)
    assert cut_off.text


@pytest.mark.parametrize(
    ("second", "kept"),
    [
        ("and then we test the whole of it", "second"),
        ("and then we", "first"),
        ("Thanks for watching!", "first"),
        ("and then " * 6, "first"),
    ],
)
def test_of_two_readings_that_are_cut_off_the_longer_one_that_can_have_been_said_is_kept(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch, second: str, kept: str
) -> None:
    def reading(text: str) -> _Reading:
        return _Reading(Evidence(text, "en", 9.0, wordless_s=5.0), -0.1, ())

    first = reading("and then we test the")
    monkeypatch.setattr(Decoder, "_read", lambda *_: reading(second))
    better = decoder._again(first, np.zeros(1, np.float32), Speech(b"", "en"), 30.0)
    assert better.seen.text == (second if kept == "second" else first.seen.text)


def test_a_click_is_no_text(decoder: Decoder) -> None:
    heard = decoder.decode(Speech(clip("short_no").pcm, "en", voiced_s=0.1))
    assert (heard.text, heard.words) == ("", ())


@pytest.mark.parametrize("name", ["sb_spk2_2", "zh_mid"])
def test_clips_that_once_looped_are_heard_whole(decoder: Decoder, recorded: Path, name: str) -> None:
    spoken = clip(name, recorded)
    heard = decoder.decode(Speech(spoken.pcm, spoken.language))
    assert errors(spoken.text, heard.text)[0] <= 2
    assert not heard.low_confidence


def test_of_recorded_chinese_at_most_a_tenth_of_the_characters_is_wrong(
    decoder: Decoder, recorded: Path
) -> None:
    spoken = [one for one in clips(recorded) if one.language == "zh"]
    counts = [errors(one.text, decoder.decode(Speech(one.pcm, "zh")).text) for one in spoken]
    assert sum(wrong for wrong, _ in counts) / sum(total for _, total in counts) <= 0.10
