"""Reads of interviews for other apps. Knows rows; returns values that outlive their transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from uuid import UUID

from apps.interviews.models import Event, Interview, Question, Turn
from inference import events as ev
from inference.assessment import Language, QuestionKind, QuestionSpec


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """A turn so far. `follow_up` is the question that its feedback ended with, "" without one."""

    number: int
    question_id: int
    kind: str
    text: str
    status: str
    follow_up: str = ""
    typed: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    id: int
    text: str
    kind: str
    limit_s: float
    expected_points: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """An interview as its flow sees it: what is planned, what was asked, whether it is over."""

    questions: tuple[PlannedQuestion, ...]
    follow_ups: bool
    asked: tuple[AskedTurn, ...]
    finished: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    generation: int
    consented: bool


def interview_for_session_token(*, public_id: UUID, session_token: str) -> Interview | None:
    """The interview of this login session's candidate, with what a live session reads of it."""
    if not session_token:
        return None
    return (
        Interview.objects.select_related("organisation", "candidate", "template")
        .filter(public_id=public_id, candidate__session_token=session_token)
        .first()
    )


def standing_of_interview(*, interview_id: int) -> Standing | None:
    """Who may go on writing the interview; None when it is gone."""
    row = Interview.objects.filter(pk=interview_id).values_list("generation", "consented_at").first()
    return None if row is None else Standing(generation=row[0], consented=row[1] is not None)


def turn_ends_with(*, interview_id: int, number: int, typed: str) -> bool:
    """Whether the turn was answered in writing, and with this text."""
    turns = Turn.objects.filter(interview_id=interview_id, number=number, input="text")
    return any(turn.transcript.endswith(typed) for turn in turns)


def course_for_interview(*, interview_id: int) -> Course:
    interview = Interview.objects.select_related("template").get(pk=interview_id)
    follow_ups = {
        event.turn_number: str(event.payload.get("text", ""))
        for event in Event.objects.filter(interview_id=interview_id, type="question.follow_up")
    }
    return Course(
        questions=tuple(planned_question(question) for question in interview.template.questions.all()),
        follow_ups=interview.template.follow_ups,
        asked=tuple(_asked(turn, follow_ups.get(turn.number, "")) for turn in interview.turns.all()),
        finished=interview.status == Interview.Status.FINISHED,
    )


def question_spec(
    question: PlannedQuestion, *, text: str, follow_up: bool, language: Language
) -> QuestionSpec:
    """For the judge. A follow-up asks for one thing: what the main question expects is no measure of it."""
    return QuestionSpec(
        text=text,
        language=language,
        kind=cast(QuestionKind, question.kind),
        expected_points=() if follow_up else question.expected_points,
        terms=question.terms,
        follow_up_to=question.text if follow_up else "",
    )


def events_after(*, interview_id: int, eid: int) -> list[ev.Event]:
    """Stored events with a higher number, oldest first."""
    rows = Event.objects.filter(interview_id=interview_id, eid__gt=eid).order_by("eid")
    return [ev.EVENT.validate_python({**row.payload, "eid": row.eid}, strict=False) for row in rows]


def planned_question(question: Question) -> PlannedQuestion:
    return PlannedQuestion(
        id=question.pk,
        text=question.text,
        kind=question.kind,
        limit_s=float(question.limit_s),
        expected_points=tuple(str(point) for point in question.expected_points),
        terms=tuple(term.strip() for term in question.terms.split(",") if term.strip()),
    )


def _asked(turn: Turn, follow_up: str) -> AskedTurn:
    typed = turn.transcript if turn.input == "text" and turn.status == Turn.Status.OPEN else ""
    return AskedTurn(
        number=turn.number,
        question_id=turn.question_id,
        kind=turn.kind,
        text=turn.question_text,
        status=turn.status,
        follow_up=follow_up,
        typed=typed,
        sha256=turn.sha256,
    )
