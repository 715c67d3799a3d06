"""Questions that nobody answers: after two the interview waits for somebody, and nothing is scored."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from apps.live import conductor
from apps.live.conductor import LEFT_ALONE
from apps.live.course import unanswered
from inference.session import AnswerSession
from tests.live.here import NearPage, Statements
from tests.live.stack import Page, Person, Server
from tests.live.test_course import FRESH, asked
from tests.live.wire import silence, speech


@pytest.fixture(autouse=True)
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page says when it skips stands for a minute and a half of silence."""
    monkeypatch.setattr(AnswerSession, "skip", lambda self: self._end("no_answer"))


async def leave_unanswered(page: NearPage, *numbers: int) -> None:
    for number in numbers:
        await page.until("answer.opened")
        await page.say(type="skip", answer=number)


def run(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


def test_after_two_questions_to_nobody_the_third_waits_until_somebody_goes_on(statements: Statements) -> None:
    person = Person(questions=3)
    ticket = person.ticket()

    async def scene() -> None:
        async with NearPage(person) as page:
            await page.hello(ticket=ticket)
            await leave_unanswered(page, 1, 2)
            await page.until("session.paused")
            assert await page.hears_nothing()
            await page.say(type="go_on")
            await page.until("answer.opened")

    run(scene())
    turns = list(person.interview.turns.all())
    assert [(turn.status, turn.end_reason) for turn in turns[:2]] == [("unscored", "no_answer")] * 2
    assert [turn.scores.count() for turn in turns] == [0, 0, 0]
    assert turns[2].status == "open"


def test_a_line_that_breaks_and_comes_back_is_nobody_either(statements: Statements) -> None:
    person = Person(questions=3)
    tickets = [person.ticket(), person.ticket()]

    async def scene() -> None:
        async with NearPage(person) as page:
            await page.hello(ticket=tickets[0])
            await leave_unanswered(page, 1, 2)
            await page.until("session.paused")
        async with NearPage(person) as page:
            welcome = await page.hello(ticket=tickets[1])
            assert (welcome["answer"], welcome["snapshot"]["status"]) == (0, "live")
            await page.until("session.paused")
            await page.say(type="go_on")
            await leave_unanswered(page, 3)
            await page.until("session.ended")

    run(scene())
    assert [turn.end_reason for turn in person.interview.turns.all()] == ["no_answer"] * 3


def test_the_paused_interview_can_be_finished_and_ends_by_itself_when_nobody_comes(
    statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished, left = Person(questions=3), Person(questions=3)
    tickets = [finished.ticket(), left.ticket()]

    async def scene(person: Person, ticket: str, *, finish: bool) -> None:
        async with NearPage(person) as page:
            await page.hello(ticket=ticket)
            await leave_unanswered(page, 1, 2)
            await page.until("session.paused")
            if finish:
                await page.say(type="finish")
            await page.until("session.ended")

    run(scene(finished, tickets[0], finish=True))
    monkeypatch.setattr(conductor, "PAUSED_WITHIN_S", 0.05)
    run(scene(left, tickets[1], finish=False))
    for person in (finished, left):
        person.interview.refresh_from_db()
        assert person.interview.status == "finished"


def test_an_answer_in_between_is_somebody() -> None:
    silent = replace(asked(1, 11, "unscored"), end_reason="no_answer")
    assert unanswered(replace(FRESH, asked=(silent, silent))) == LEFT_ALONE
    assert unanswered(replace(FRESH, asked=(silent, asked(2, 12), silent))) == 1
    assert unanswered(FRESH) == 0


def test_with_a_key_held_the_server_waits_and_the_next_answer_is_held_too(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(type="input", mode="hold")
        page.stream(speech(1.5) + silence(6.0))
        page.until("turn.paused")
        page.end(speech(1.5) + silence(6.0))
        assert page.until("turn.ended")["reason"] == "done"


def test_time_to_think_is_still_given_after_the_line_was_lost(server: Server) -> None:
    person = Person(questions=1)
    said = speech(1.5) + silence(0.3)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(said)
        page.say(type="thinking", answer=1)
        waits = page.until("turn.waits")
        assert waits["until_s"] - waits["at_s"] == 30
        page.stream(silence(8.0))
        page.acked(97)
    with Page(server, person) as page:
        page.hello()
        page.until("turn.waits")
        page.sent = 98
        page.stream(silence(1.0))
        page.end(said + silence(9.0))
        assert page.until("turn.ended")["reason"] == "done"  # not what eight seconds of silence would bring
