from __future__ import annotations

from dataclasses import replace

from apps.interviews.selectors import AskedTurn, Course, PlannedQuestion
from apps.live.course import Step, next_step

QUESTIONS = tuple(
    PlannedQuestion(id=pk, text=f"Question {pk}", kind="technical", limit_s=90.0, expected_points=("p",))
    for pk in (11, 12, 13)
)
FRESH = Course(questions=QUESTIONS, follow_ups=True, asked=())


def asked(
    number: int, question_id: int, status: str = "answered", kind: str = "main", follow_up: str = ""
) -> AskedTurn:
    return AskedTurn(number, question_id, kind, f"Question {question_id}", status, follow_up)


def step_after(*turns: AskedTurn, follow_ups: bool = True) -> Step:
    step = next_step(replace(FRESH, asked=turns, follow_ups=follow_ups))
    assert step is not None
    return step


def test_a_fresh_interview_starts_with_its_first_question() -> None:
    step = step_after()
    assert (step.number, step.kind, step.text, step.place, step.total) == (1, "main", "Question 11", 1, 3)
    question, opened = step.announced()
    assert (question.turn, question.limit_s, opened.turn) == (1, 90.0, 1)


def test_an_open_turn_is_gone_on_with() -> None:
    assert step_after(asked(1, 11, "open")).number == 1


def test_a_scored_answer_is_followed_up_once() -> None:
    first = asked(1, 11, follow_up="How many?")
    step = step_after(first)
    assert (step.number, step.kind, step.text, step.place) == (2, "follow_up", "How many?", 1)
    after = step_after(first, asked(2, 11, kind="follow_up", follow_up="And then?"))
    assert (after.number, after.kind, after.place) == (3, "main", 2)


def test_without_a_score_or_a_wish_for_follow_ups_the_next_question_comes() -> None:
    assert step_after(asked(1, 11, "skipped", follow_up="x")).place == 2
    assert step_after(asked(1, 11, "unscored", follow_up="x")).place == 2
    assert step_after(asked(1, 11, follow_up="x"), follow_ups=False).place == 2
    assert step_after(asked(1, 11, follow_up=" ")).place == 2


def test_after_the_last_answer_or_an_early_finish_nothing_comes() -> None:
    turns = tuple(asked(number, pk) for number, pk in ((1, 11), (2, 12), (3, 13)))
    assert next_step(replace(FRESH, asked=turns)) is None
    assert next_step(replace(FRESH, finished=True)) is None
    assert next_step(Course(questions=(), follow_ups=True, asked=())) is None


def test_a_follow_up_is_not_judged_by_what_the_main_question_expects() -> None:
    main = step_after().spec("en")
    follow_up = step_after(asked(1, 11, follow_up="How many?")).spec("en")
    assert (main.kind, main.expected_points) == ("technical", ("p",))
    assert (follow_up.text, follow_up.kind, follow_up.expected_points) == ("How many?", "technical", ())
    assert (main.follow_up_to, follow_up.follow_up_to) == ("", main.text)
