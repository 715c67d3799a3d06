"""A kept answer is put to the judge as it was in the interview."""

from __future__ import annotations

import pytest

from apps.assessment.kept_answers import given_answer
from apps.interviews.models import Turn
from apps.interviews.selectors import course_for_interview
from apps.live.course import next_step
from tests.assessment import rows

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("kind", [Turn.Kind.MAIN, Turn.Kind.FOLLOW_UP])
def test_the_report_judges_by_the_same_question_as_the_live_feedback(kind: Turn.Kind) -> None:
    interview = rows.interview()
    text = "By how much, roughly?" if kind == Turn.Kind.FOLLOW_UP else rows.QUESTION
    turn = rows.turn(interview, kind=kind, question_text=text, status=Turn.Status.OPEN)
    interview.status = interview.Status.LIVE
    interview.save()
    step = next_step(course_for_interview(interview_id=interview.pk))
    assert step is not None
    kept = given_answer(turn).question
    assert kept == step.spec("en")
    assert kept.kind == "behavioural"
    assert kept.follow_up_to == (rows.QUESTION if kind == Turn.Kind.FOLLOW_UP else "")
