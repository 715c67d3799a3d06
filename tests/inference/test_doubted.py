"""What the model's readings come to when a guard doubts them, and clips on which it once went wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from inference.adapters.decode import LEAD_S, Decoder, _first_plan, _other_window_s, _Reading
from inference.adapters.guards import Evidence
from inference.adapters.words import wordless_s
from inference.assessment import Language, Word
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE
from inference.ports import Speech
from tests.bench.voice import utterances
from tests.inference.spoken import clip, clips, errors

if TYPE_CHECKING:
    from inference.adapters.decode import Floats

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


@pytest.mark.parametrize(
    ("rest", "sure", "text", "ends_s"),
    [
        ("whole of it again", 0.9, "and then we test the whole of it again", 5.0),
        ("whole of it again", 0.3, "and then we test the", 2.5),
        ("Thanks for watching!", 0.9, "and then we test the", 2.5),
        ("you you you you you you", 0.9, "and then we test the", 2.5),
    ],
)
def test_what_a_reading_leaves_out_at_its_end_is_read_alone_and_put_behind_it(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch, rest: str, sure: float, text: str, ends_s: float
) -> None:
    def reading(said: str, voice_end_s: float) -> _Reading:
        each_s = 2.5 / len(said.split())
        words = tuple(Word(one, n * each_s, (n + 1) * each_s, sure) for n, one in enumerate(said.split()))
        return _Reading(Evidence(said, "en", 4.0, wordless_s=wordless_s(words, voice_end_s)), -0.1, words)

    asked = list[tuple[int, Speech]]()

    def read(_: Decoder, samples: Floats, speech: Speech, _plan: object) -> _Reading:
        asked.append((samples.size, speech))
        return reading(rest, 2.5)

    monkeypatch.setattr(Decoder, "_read", read)
    speech = Speech(bytes(160_000), "en", ("Kafka",), voiced_s=4.0, voice_end_s=5.0)
    first, samples = reading("and then we test the", 5.0), np.zeros(80_000, np.float32)
    whole = decoder._again(first, samples, speech, 30.0)
    assert (whole.seen.text, whole.end_s) == (text, ends_s)
    assert whole.fault == (None if ends_s == 5.0 else "truncation")
    [(count, left)] = asked
    assert (count, len(left.pcm), left.terms) == (40_000, 80_000, ())
    assert (left.voice_end_s, left.voiced_s) == (2.5, 2.5)


def test_a_click_is_no_text(decoder: Decoder) -> None:
    heard = decoder.decode(Speech(clip("short_no").pcm, "en", voiced_s=0.1))
    assert (heard.text, heard.words) == ("", ())


@pytest.mark.parametrize("name", ["sb_spk2_2", "zh_mid"])
def test_clips_that_once_looped_are_heard_whole(decoder: Decoder, recorded: Path, name: str) -> None:
    spoken = clip(name, recorded)
    heard = decoder.decode(Speech(spoken.pcm, spoken.language))
    assert errors(spoken.text, heard.text)[0] <= 2
    assert not heard.low_confidence


def test_of_recorded_chinese_cut_as_in_a_session_at_most_a_tenth_of_the_characters_is_wrong(
    decoder: Decoder, recorded: Path
) -> None:
    spoken = [one for one in clips(recorded) if one.language == "zh"]
    counts = [errors(one.text, heard_in_pieces(decoder, one.pcm)) for one in spoken]
    assert sum(wrong for wrong, _ in counts) / sum(total for _, total in counts) <= 0.10


def heard_in_pieces(decoder: Decoder, pcm: bytes) -> str:
    pieces = (Speech(piece.pcm, "zh", voiced_s=piece.voiced_s) for piece in utterances(pcm))
    return "".join(decoder.decode(piece).text for piece in pieces)


def test_silence_that_is_put_before_the_speech_moves_no_word(
    decoder: Decoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    speech = Speech(clip("two_sentences_fast").pcm, "en")
    plain = decoder.decode(speech).words
    monkeypatch.setitem(LEAD_S, "en", 0.5)
    led = decoder.decode(speech).words
    assert [word.text for word in led] == [word.text for word in plain]
    assert all(abs(one.start_s - two.start_s) < 0.2 for one, two in zip(led[1:], plain[1:], strict=True))


@pytest.mark.parametrize(("length_s", "lead_s"), [(9.0, 0.5), (27.5, 0.5), (27.6, 0.0), (30.0, 0.0)])
def test_speech_that_fills_the_window_has_no_silence_put_before_it(length_s: float, lead_s: float) -> None:
    pcm = bytes(round(length_s * 16_000) * 2)
    assert _first_plan(Speech(pcm, "zh", voiced_s=length_s), chinese_full=False).lead_s == lead_s
    assert _first_plan(Speech(pcm, None, voiced_s=length_s), chinese_full=False).lead_s == 0.0


@pytest.mark.parametrize(
    ("language", "length_s", "window_s"),
    [
        ("en", 3.0, 10.0),
        ("en", 9.0, 11.0),
        ("zh", 7.0, 10.0),
        ("zh", 8.0, 10.5),
        ("zh", 27.5, 30.0),
        ("zh", 29.0, 30.0),
    ],
)
def test_two_seconds_of_the_window_stay_behind_the_voice_whatever_is_put_before_it(
    language: Language, length_s: float, window_s: float
) -> None:
    speech = Speech(bytes(round(length_s * SAMPLE_RATE) * BYTES_PER_SAMPLE), language)
    first = _first_plan(speech, False)
    assert first.window_s == window_s
    again = _other_window_s(length_s, replace(first, window_s=30.0))
    assert again == window_s
