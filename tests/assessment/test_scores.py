"""Scores as rows: idempotent, with quotes on the clock of the answer, and never made up."""

from __future__ import annotations

from decimal import Decimal

import pytest

from apps.assessment.models import Evidence, Score
from apps.assessment.services import score_record
from apps.assessment.word_times import quotes_timed
from inference.assessment import Word
from tests.assessment import rows

pytestmark = pytest.mark.django_db


def test_a_score_is_stored_with_its_grade_and_one_evidence_row_per_dimension() -> None:
    turn = rows.turn(rows.interview())
    score = score_record(turn=turn, assessment=rows.assessed(), words=(), stage="live", rev=3)
    assert score is not None
    stored = Score.objects.get(turn=turn)
    assert (stored.value, stored.grade, stored.rev) == (Decimal("7.8"), "A", 3)
    assert stored.star["action"] == {"present": True, "quote": "I cached the catalogue"}
    assert stored.evidence.count() == 5


def test_quotes_carry_the_times_of_their_first_and_last_word() -> None:
    turn = rows.turn(rows.interview())
    score_record(turn=turn, assessment=rows.assessed(), words=rows.words_of(rows.ANSWER), stage="live")
    quote = Evidence.objects.get(dimension="evidence").quotes[0]
    assert quote == {"text": "fell by forty percent", "start_s": 2.5, "end_s": 4.5}


def test_a_quote_that_is_not_in_the_transcript_is_kept_without_times() -> None:
    assert quotes_timed("I did it.", rows.words_of("I did it."), ["we did"]) == [
        {"text": "we did", "start_s": None, "end_s": None}
    ]


def test_chinese_words_without_spaces_are_found() -> None:
    words = [
        Word(text, index * 1.0, index + 1.0, 0.9) for index, text in enumerate(("延迟", "下降", "了", "四成"))
    ]
    assert quotes_timed("延迟下降了四成。", words, ["下降了四成"])[0] == {
        "text": "下降了四成",
        "start_s": 1.0,
        "end_s": 4.0,
    }


def test_the_second_saying_of_a_word_keeps_its_own_time() -> None:
    text = "we tested and then we shipped"
    assert quotes_timed(text, rows.words_of(text), ["we shipped"])[0]["start_s"] == 2.0


def test_a_word_missing_in_the_transcript_does_not_move_the_others() -> None:
    text = "first we looked at it " + "x " * 60 + "zebra"
    words = [Word("zebra", 0.0, 0.5, 0.3), *rows.words_of("first we looked")]
    assert quotes_timed(text, words, ["we looked"])[0]["start_s"] == 0.5


def test_recording_twice_leaves_one_score_with_the_newer_evidence() -> None:
    turn = rows.turn(rows.interview())
    score_record(turn=turn, assessment=rows.assessed(7.8), words=(), stage="live", rev=1)
    score_record(turn=turn, assessment=rows.assessed(6.2), words=(), stage="live", rev=2)
    assert [(s.value, s.grade, s.rev) for s in Score.objects.all()] == [(Decimal("6.2"), "B", 2)]
    assert Evidence.objects.count() == 5


def test_live_and_deep_scores_stand_side_by_side() -> None:
    turn = rows.turn(rows.interview())
    score_record(turn=turn, assessment=rows.assessed(7.8), words=(), stage="live")
    score_record(turn=turn, assessment=rows.assessed(8.1), words=(), stage="deep")
    assert {s.stage: s.value for s in turn.scores.all()} == {"live": Decimal("7.8"), "deep": Decimal("8.1")}


def test_a_reading_without_a_score_never_becomes_a_number() -> None:
    turn = rows.turn(rows.interview())
    score_record(turn=turn, assessment=rows.assessed(7.8), words=(), stage="live")
    assert score_record(turn=turn, assessment=rows.assessed(None), words=(), stage="live") is None
    assert not Score.objects.exists()
