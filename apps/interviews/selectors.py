"""Reads of interviews for other apps. Knows rows; returns values that outlive their transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Q, QuerySet

from apps.interviews.models import Event, Interview, Question, Turn
from apps.ops.statements import Selection
from inference import events as ev
from inference.assessment import Language, QuestionKind, QuestionSpec
from inference.nlp.language import detect

FOLLOW_UP, ENDED, HEARD = "question.follow_up", "session.ended", "transcript.final"
TELLING_FINALS = 8  # the first ones of an interview tell its language
_QUESTION_FIELDS = ("id", "text", "kind", "limit_s", "expected_points", "terms")
_PLAN_FIELDS = (
    *("status", "last_eid", "template__follow_ups", "template__detect_language"),
    *(f"template__questions__{name}" for name in _QUESTION_FIELDS),
)
_TURN_FIELDS = (
    *("number", "question_id", "kind", "question_text", "status", "input", "transcript", "sha256", "epoch"),
    *("audio_s", "audio_complete", "end_reason"),
)
_EVENT_FIELDS = ("eid", "type", "turn_number", "payload")
_INTERVIEW_FIELDS = (
    *("id", "public_id", "language", "status", "notice_version", "consented_at"),
    *("generation", "resume_hash", "resume_expires_at"),
)
_OF_OTHERS = (
    *("organisation__public_id", "candidate__public_id"),
    *("template__title", "template__detect_language", "template__follow_ups"),
)
_Row = Mapping[str, Any]


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


@dataclass(frozen=True, slots=True)
class OwnInterview:
    """The interview of a login session's candidate, with what a live session reads of the rows around it."""

    interview: Interview
    organisation: UUID
    candidate: UUID
    title: str
    any_language: bool
    follow_ups: bool


def interview_for_session_token(*, public_id: UUID, session_token: str) -> OwnInterview | None:
    """The interview of this login session's candidate."""
    if not session_token:
        return None
    for row in _OWN.rows(public_id, session_token):
        own, others = row[: len(_INTERVIEW_FIELDS)], row[len(_INTERVIEW_FIELDS) :]
        return OwnInterview(Interview.from_db(DEFAULT_DB_ALIAS, _INTERVIEW_FIELDS, own), *others)
    return None


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
    follow_ups = Event.objects.filter(interview_id=interview_id, type=FOLLOW_UP)
    return _course(plan, _turns(interview_id), follow_ups.values(*_EVENT_FIELDS))


def live_state(*, interview_id: int, after_eid: int) -> LiveState | None:
    """Everything a socket needs of the rows, in three statements; None when the interview is gone.

    Where the candidate chose the language, the first finals are among the events: they tell it.
    """
    plan = _plan(interview_id)
    if not plan:
        return None
    turns = _turns(interview_id)
    is_open = bool(turns) and turns[-1]["status"] == Turn.Status.OPEN
    asked_for = _EVENTS_AND_FINALS if plan[0]["template__detect_language"] else _EVENTS
    found = asked_for.rows(interview_id, after_eid, turns[-1]["number"] if is_open else _NO_TURN)
    rows = _named(_EVENT_FIELDS, found)
    return LiveState(
        course=_course(plan, turns, [row for row in rows if row["type"] == FOLLOW_UP]),
        events=tuple(_event(row) for row in rows),
        last_eid=int(plan[0]["last_eid"]),
        ended=any(row["type"] == ENDED for row in rows),
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
    return _planned({name: getattr(question, name) for name in _QUESTION_FIELDS})


def _planned(row: _Row, prefix: str = "") -> PlannedQuestion:
    return PlannedQuestion(
        id=row[prefix + "id"],
        text=row[prefix + "text"],
        kind=row[prefix + "kind"],
        limit_s=float(row[prefix + "limit_s"]),
        expected_points=tuple(str(point) for point in row[prefix + "expected_points"]),
        terms=tuple(term.strip() for term in row[prefix + "terms"].split(",") if term.strip()),
    )


def _plan(interview_id: int) -> list[_Row]:
    """One row per planned question, each with what the flow needs of the interview itself."""
    return _named(_PLAN_FIELDS, _PLAN.rows(interview_id))


def _turns(interview_id: int) -> list[_Row]:
    return _named(_TURN_FIELDS, _TURNS.rows(interview_id))


def _named(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[_Row]:
    return [dict(zip(names, row, strict=True)) for row in rows]


def _course(plan: Sequence[_Row], turns: Sequence[_Row], follow_ups: Iterable[_Row]) -> Course:
    followed = {event["turn_number"]: str(event["payload"].get("text", "")) for event in follow_ups}
    of_question = "template__questions__"
    return Course(
        questions=tuple(_planned(row, of_question) for row in plan if row[of_question + "id"] is not None),
        follow_ups=bool(plan[0]["template__follow_ups"]),
        asked=tuple(_asked(turn, followed.get(turn["number"], "")) for turn in turns),
        finished=plan[0]["status"] == Interview.Status.FINISHED,
        any_language=bool(plan[0]["template__detect_language"]),
    )


def _event(row: _Row) -> ev.Event:
    return ev.EVENT.validate_python({**row["payload"], "eid": row["eid"]}, strict=False)


def _asked(turn: _Row, follow_up: str) -> AskedTurn:
    is_typed = turn["input"] == "text" and turn["status"] == Turn.Status.OPEN
    return AskedTurn(
        number=turn["number"],
        question_id=turn["question_id"],
        kind=turn["kind"],
        text=turn["question_text"],
        status=turn["status"],
        follow_up=follow_up,
        typed=turn["transcript"] if is_typed else "",
        sha256=turn["sha256"],
        epoch=turn["epoch"],
        audio_s=turn["audio_s"],
        audio_complete=turn["audio_complete"],
        end_reason=turn["end_reason"],
    )


def _own_interview(public_id: UUID, session_token: str) -> QuerySet[Any, Any]:
    own = Interview.objects.filter(public_id=public_id, candidate__session_token=session_token)
    return own.order_by().values_list(*_INTERVIEW_FIELDS, *_OF_OTHERS)


def _planned_questions(interview_id: int) -> QuerySet[Any, Any]:
    rows = Interview.objects.filter(pk=interview_id).order_by("template__questions__position")
    return rows.values_list(*_PLAN_FIELDS)


def _asked_turns(interview_id: int) -> QuerySet[Any, Any]:
    return Turn.objects.filter(interview_id=interview_id).values_list(*_TURN_FIELDS)


def _wanted_events(
    interview_id: int, after_eid: int, open_turn: int, more: Q | None = None
) -> QuerySet[Any, Any]:
    wanted = Q(eid__gt=after_eid) | Q(type__in=(FOLLOW_UP, ENDED)) | Q(turn_number=open_turn)
    either = wanted | more if more else wanted
    return Event.objects.filter(either, interview_id=interview_id).values_list(*_EVENT_FIELDS)


def _with_finals(interview_id: int, after_eid: int, open_turn: int) -> QuerySet[Any, Any]:
    finals = Event.objects.filter(interview_id=interview_id, type=HEARD).order_by("eid")
    first = Q(pk__in=finals.values("pk")[:TELLING_FINALS])
    return _wanted_events(interview_id, after_eid, open_turn, first)


_NO_TURN = -1
_OWN = Selection(_own_interview, UUID(int=11), "the token of a login session")
_PLAN = Selection(_planned_questions, 11)
_TURNS = Selection(_asked_turns, 11)
_EVENTS = Selection(_wanted_events, 11, 12, 13)
_EVENTS_AND_FINALS = Selection(_with_finals, 11, 12, 13)
