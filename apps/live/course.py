"""Which question comes next: a pure function of what was asked so far. Knows no sockets, rows or audio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from apps.interviews.selectors import AskedTurn, Course, PlannedQuestion, question_spec
from inference import events as ev
from inference.assessment import Language, QuestionSpec


@dataclass(frozen=True, slots=True)
class Step:
    """One question as it is put to the candidate. `place` of `total` counts the template's questions."""

    number: int
    question: PlannedQuestion
    kind: Literal["main", "follow_up"]
    text: str
    place: int
    total: int

    def announced(self) -> tuple[ev.QuestionAsked, ev.AnswerOpened]:
        asked = ev.QuestionAsked(
            turn=self.number,
            text=self.text,
            number=self.place,
            total=self.total,
            kind=self.kind,
            limit_s=self.question.limit_s,
        )
        return asked, ev.AnswerOpened(turn=self.number)

    def spec(self, language: Language) -> QuestionSpec:
        """For the judge."""
        follow_up = self.kind == "follow_up"
        return question_spec(self.question, text=self.text, follow_up=follow_up, language=language)


def next_step(course: Course) -> Step | None:
    """The open question, else its follow-up, else the next planned one. None: the interview is over."""
    last = course.asked[-1] if course.asked else None
    if course.finished:
        return None
    if last is not None and last.status == "open":
        return _step(course, last.question_id, last.number, last.kind == "follow_up", last.text)
    if last is not None and _is_followed_up(course, last):
        return _step(course, last.question_id, last.number + 1, True, last.follow_up)
    asked = {turn.question_id for turn in course.asked}
    following = next((question for question in course.questions if question.id not in asked), None)
    if following is None:
        return None
    return _step(course, following.id, last.number + 1 if last else 1, False, following.text)


def unanswered(course: Course) -> int:
    """How many questions in a row nobody answered, up to now."""
    count = 0
    for turn in reversed(course.asked):
        if turn.end_reason != "no_answer":
            break
        count += 1
    return count


def _is_followed_up(course: Course, last: AskedTurn) -> bool:
    return (
        course.follow_ups
        and last.kind == "main"
        and last.status == "answered"
        and bool(last.follow_up.strip())
    )


def _step(course: Course, question_id: int, number: int, follow_up: bool, text: str) -> Step:
    place = [question.id for question in course.questions].index(question_id)
    return Step(
        number=number,
        question=course.questions[place],
        kind="follow_up" if follow_up else "main",
        text=text,
        place=place + 1,
        total=len(course.questions),
    )
