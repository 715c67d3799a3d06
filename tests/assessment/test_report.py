"""The arithmetic of a report, on rows."""

from __future__ import annotations

from decimal import Decimal

import pytest

from apps.assessment.models import Report
from apps.assessment.selectors import interview_scores, report_for_interview
from apps.assessment.services import report_rebuild, score_record
from apps.interviews.models import Interview, Turn
from tests.assessment import rows

pytestmark = pytest.mark.django_db


def scored(interview: Interview, number: int, value: float, stage: str = "live", **fields: object) -> Turn:
    turn = interview.turns.filter(number=number).first() or rows.turn(interview, number, **fields)
    weakness = f"Weakness {value}"
    score_record(turn=turn, assessment=rows.assessed(value, weakness), words=(), stage=stage)
    return turn


def test_the_mean_counts_answers_with_a_score_and_coverage_counts_the_questions() -> None:
    interview = rows.interview(questions=4)
    scored(interview, 1, 7.0)
    scored(interview, 2, 4.0, kind=Turn.Kind.FOLLOW_UP)
    rows.turn(interview, 3, status=Turn.Status.SKIPPED, transcript="")
    report = report_rebuild(interview=interview)
    assert (report.mean, report.grade) == (Decimal("5.5"), "C")
    assert (report.answered, report.asked) == (1, 4)  # the follow-up is counted apart


def test_a_deep_score_counts_before_the_live_one() -> None:
    interview = rows.interview()
    scored(interview, 1, 4.0)
    scored(interview, 1, 8.0, stage="deep")
    assert report_rebuild(interview=interview).mean == Decimal("8.0")
    assert interview_scores(interview)[1].stage == "deep"


def test_without_any_score_there_is_no_mean_and_no_grade() -> None:
    interview = rows.interview()
    rows.turn(interview, 1, status=Turn.Status.UNSCORED)
    report = report_rebuild(interview=interview)
    assert (report.mean, report.grade, report.answered) == (None, "", 0)


def test_a_skipped_answer_keeps_out_of_the_mean_even_with_a_stale_score() -> None:
    interview = rows.interview()
    scored(interview, 1, 8.0)
    scored(interview, 2, 1.0, status=Turn.Status.SKIPPED)
    assert report_rebuild(interview=interview).mean == Decimal("8.0")


def test_half_points_round_up_as_people_expect() -> None:
    interview = rows.interview(questions=2)
    scored(interview, 1, 7.0)
    scored(interview, 2, 7.9)
    assert report_rebuild(interview=interview).mean == Decimal("7.5")


def test_next_steps_put_what_would_raise_most_first_and_say_nothing_twice() -> None:
    interview = rows.interview(questions=3)
    strong = (rows.reading("relevance", 9.0, 0.5), rows.reading("evidence", 9.0, 0.5))
    weak = (rows.reading("relevance", 8.0, 0.5), rows.reading("evidence", 1.0, 0.5))
    for number, dimensions, text in (
        (1, strong, "Say it shorter."),
        (2, weak, "Add a number."),
        (3, weak, "Add a number."),
    ):
        turn = rows.turn(interview, number)
        value = sum(part.value * part.weight for part in dimensions)
        reading = rows.assessed(value, text, dimensions=dimensions)
        score_record(turn=turn, assessment=reading, words=(), stage="live")
    assert report_rebuild(interview=interview).next_steps == ["Add a number.", "Say it shorter."]


def test_what_a_cap_took_away_counts_as_something_to_win() -> None:
    interview = rows.interview(questions=2)
    score_record(
        turn=rows.turn(interview, 1), assessment=rows.assessed(7.5, "Small."), words=(), stage="live"
    )
    capped = rows.assessed(2.5, "Answer the question.", caps=("off_topic",))
    score_record(turn=rows.turn(interview, 2), assessment=capped, words=(), stage="live")
    assert report_rebuild(interview=interview).next_steps[0] == "Answer the question."


def test_rebuilding_keeps_one_report_and_says_why_it_is_not_final() -> None:
    interview = rows.interview()
    scored(interview, 1, 8.0)
    report_rebuild(interview=interview, status=Report.Status.FINAL)
    report_rebuild(interview=interview, reason="timeout")
    report = report_for_interview(interview)
    assert report is not None
    assert (report.status, report.reason, Report.objects.count()) == ("live", "timeout", 1)
