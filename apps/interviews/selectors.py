"""Reads of interviews for other apps. Knows rows; returns values that outlive their transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.db.models import Q

from apps.interviews.models import Event, Interview, Question, Turn
from inference import events as ev
from inference.assessment import Language, QuestionKind, QuestionSpec
from inference.nlp.language import detect

FOLLOW_UP, ENDED, HEARD = "question.follow_up", "session.ended", "transcript.final"
TELLING_FINALS = 8  # the first ones of an interview tell its language
_QUESTION_FIELDS = ("id", "text", "kind", "limit_s", "expected_points", "terms")


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
    epoch: str = ""
    audio_s: float = 0.0
    audio_complete: bool = True
    end_reason: str = ""


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
    any_language: bool = False  # the candidate's first words tell it


@dataclass(frozen=True, slots=True)
class LiveState:
    """What a socket goes on from. `events` are the ones asked for and all of the open turn, oldest first."""

    course: Course
    events: tuple[ev.Event, ...]
    last_eid: int
    ended: bool  # `session.ended` is among the interview's events

    def after(self, eid: int) -> list[ev.Event]:
        return [event for event in self.events if event.eid > eid]

    def of_turn(self, number: int) -> list[ev.Event]:
        return [event for event in self.events if getattr(event, "turn", None) == number]


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


def lacks_audio(interview: Interview) -> bool:
    """Whether a closed answer of it still waits for audio that the page may hold."""
    return interview.turns.filter(audio_complete=False).exclude(status=Turn.Status.OPEN).exists()


def interviews_live_beats() -> dict[int, int]:
    """The beat of every interview that is under way, the oldest first."""
    live = Interview.objects.filter(status=Interview.Status.LIVE).order_by("pk")
    return dict(live.values_list("pk", "beat"))


def turn_ends_with(*, interview_id: int, number: int, typed: str) -> bool:
    """Whether the turn was answered in writing, and with this text."""
    turns = Turn.objects.filter(interview_id=interview_id, number=number, input="text")
    return any(turn.transcript.endswith(typed) for turn in turns)


def course_for_interview(*, interview_id: int) -> Course:
    """Raises Interview.DoesNotExist."""
    plan = _plan(interview_id)
    if not plan:
        raise Interview.DoesNotExist
    turns = list(Turn.objects.filter(interview_id=interview_id))
    return _course(plan, turns, Event.objects.filter(interview_id=interview_id, type=FOLLOW_UP))


def live_state(*, interview_id: int, after_eid: int) -> LiveState | None:
    """Everything a socket needs of the rows, in three statements; None when the interview is gone.

    Where the candidate chose the language, the first finals are among the events: they tell it.
    """
    plan = _plan(interview_id)
    if not plan:
        return None
    turns = list(Turn.objects.filter(interview_id=interview_id))
    wanted = Q(eid__gt=after_eid) | Q(type__in=(FOLLOW_UP, ENDED))
    if turns and turns[-1].status == Turn.Status.OPEN:
        wanted |= Q(turn_number=turns[-1].number)
    if plan[0]["template__detect_language"]:
        finals = Event.objects.filter(interview_id=interview_id, type=HEARD).order_by("eid")
        wanted |= Q(pk__in=finals.values("pk")[:TELLING_FINALS])
    rows = list(Event.objects.filter(wanted, interview_id=interview_id))
    return LiveState(
        course=_course(plan, turns, [row for row in rows if row.type == FOLLOW_UP]),
        events=tuple(_event(row) for row in rows),
        last_eid=int(plan[0]["last_eid"]),
        ended=any(row.type == ENDED for row in rows),
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


def answer_language(interview: Interview, text: str) -> Language:
    """What an answer is judged in: the interview's language, or its own where the candidate chooses it."""
    chosen = interview.template.detect_language and text
    return detect(text) if chosen else cast(Language, interview.language)


def planned_question(question: Question) -> PlannedQuestion:
    return PlannedQuestion(
        id=question.pk,
        text=question.text,
        kind=question.kind,
        limit_s=float(question.limit_s),
        expected_points=tuple(str(point) for point in question.expected_points),
        terms=tuple(term.strip() for term in question.terms.split(",") if term.strip()),
    )


def _plan(interview_id: int) -> list[dict[str, Any]]:
    """One row per planned question, each with what the flow needs of the interview itself."""
    of_question = (f"template__questions__{name}" for name in _QUESTION_FIELDS)
    rows = Interview.objects.filter(pk=interview_id).order_by("template__questions__position")
    of_template = ("template__follow_ups", "template__detect_language")
    return list(rows.values("status", "last_eid", *of_template, *of_question))


def _course(plan: Sequence[dict[str, Any]], turns: Sequence[Turn], follow_ups: Iterable[Event]) -> Course:
    followed = {event.turn_number: str(event.payload.get("text", "")) for event in follow_ups}
    return Course(
        questions=tuple(_question(row) for row in plan if row["template__questions__id"] is not None),
        follow_ups=bool(plan[0]["template__follow_ups"]),
        asked=tuple(_asked(turn, followed.get(turn.number, "")) for turn in turns),
        finished=plan[0]["status"] == Interview.Status.FINISHED,
        any_language=bool(plan[0]["template__detect_language"]),
    )


def _question(row: dict[str, Any]) -> PlannedQuestion:
    return planned_question(
        Question(**{name: row[f"template__questions__{name}"] for name in _QUESTION_FIELDS})
    )


def _event(row: Event) -> ev.Event:
    return ev.EVENT.validate_python({**row.payload, "eid": row.eid}, strict=False)


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
        epoch=turn.epoch,
        audio_s=turn.audio_s,
        audio_complete=turn.audio_complete,
        end_reason=turn.end_reason,
    )
