"""Coming back: the token of the last welcome opens the next socket, cheaply, once, and for its owner only."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.interviews.models import Interview
from apps.live.admission import buffer_key
from tests.live.here import NearPage, Statements
from tests.live.stack import ANSWER, Page, Person, Server
from tests.live.wire import speech

RESUME_STATEMENTS = 6  # login session, interview, seat, questions, turns, events


def token_of(server: Server, person: Person) -> str:
    with Page(server, person) as page:
        token: str = page.hello()["resume_token"]
    return token


def test_a_page_comes_back_without_a_ticket_and_goes_on_where_it_was(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        first = page.hello()
        page.until("answer.opened")
        page.stream(speech(0.5))
        page.acked(4)
    with Page(server, person) as page:
        second = page.hello(resume=first["resume_token"])
        assert (second["next"], second["epoch"]) == (5, first["epoch"])
        assert second["gen"] == first["gen"] + 1
        assert second["resume_token"] not in {"", first["resume_token"]}
        page.until("answer.opened")
    assert person.interview.tickets.count() == 1
    row = Interview.objects.get(pk=person.interview.pk)
    assert len(base64.urlsafe_b64decode(first["resume_token"] + "=")) == 32
    assert second["resume_token"] not in row.resume_hash  # only its hash is kept


def test_a_resume_token_works_once_and_a_fresh_ticket_still_opens(server: Server) -> None:
    person = Person(questions=1)
    token = token_of(server, person)
    with Page(server, person) as page:
        page.hello(resume=token)
    with Page(server, person) as page:
        page.say(type="hello", resume=token)
        assert page.close_code() == 4401
    with Page(server, person) as page:
        page.hello()


def test_a_resume_token_opens_nothing_for_another_session_or_interview(server: Server) -> None:
    person, other = Person(), Person()
    token = token_of(server, person)
    with Page(server, person, cookie=other.cookie) as page:
        page.say(type="hello", resume=token)
        assert page.close_code() == 4401
    with Page(server, other) as page:
        page.say(type="hello", resume=token)
        assert page.close_code() == 4401
    with Page(server, person) as page:  # and it was not used up by trying
        page.hello(resume=token)


def test_a_resume_token_is_good_for_fifteen_minutes_after_the_socket(server: Server) -> None:
    person = Person()
    token = token_of(server, person)
    row = Interview.objects.filter(pk=person.interview.pk)
    expires_at = row.get().resume_expires_at
    assert expires_at is not None
    assert timedelta(minutes=12) < expires_at - timezone.now() <= timedelta(minutes=15)
    row.update(resume_expires_at=timezone.now() - timedelta(seconds=1))
    with Page(server, person) as page:
        page.say(type="hello", resume=token)
        assert page.close_code() == 4401


@pytest.mark.parametrize("ways", [{}, {"ticket": "one", "resume": "other"}, {"resume": "r" * 201}])
def test_a_hello_has_exactly_one_way_in(server: Server, ways: dict[str, str]) -> None:
    with Page(server, Person()) as page:
        page.say(type="hello", **ways)
        assert page.close_code() == 4400


def test_without_consent_a_resume_token_opens_nothing(server: Server) -> None:
    person = Person()
    token = token_of(server, person)
    # The row's own rule keeps a started interview consented: a new one stands for a withdrawn consent.
    Interview.objects.filter(pk=person.interview.pk).update(status="notice", consented_at=None)
    with Page(server, person) as page:
        page.say(type="hello", resume=token)
        assert page.close_code() == 4403


def test_a_page_that_shows_more_than_is_stored_is_told_to_reload(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        shown = page.until("answer.opened")["eid"]
    with Page(server, person) as page:
        page.hello(events_from=shown)
        page.until("session.ready")
        page.say(type="text_answer", answer=1, text=ANSWER)
        page.until("committed")
        assert "reload" not in page.types()
    with Page(server, person) as page:
        page.hello(events_from=1_000_000)
        assert page.until("reload") == {"type": "reload"}
        assert not [message for message in page.messages if message.get("eid")]
    with Page(server, person) as page:
        page.hello(events_from=0)
        page.until("answer.opened")


def test_what_the_page_keeps_has_one_key_per_interview_and_none_at_rest(server: Server) -> None:
    person, other = Person(questions=1), Person(questions=1)
    keys = []
    for who in (person, person, other):
        with Page(server, who) as page:
            welcome = page.hello()
            keys.append(welcome["buffer_key"])
            assert abs(welcome["server_time"] / 1_000 - timezone.now().timestamp()) < 60
    assert keys[0] == keys[1] == buffer_key(person.interview) != keys[2]
    assert len(base64.urlsafe_b64decode(keys[0])) == 32
    row = Interview.objects.filter(pk=person.interview.pk).values().get()
    assert keys[0] not in str(row)


def test_a_resume_takes_six_statements_at_most(statements: Statements) -> None:
    person = Person(questions=3)
    ticket = person.ticket()

    async def come_back() -> list[str]:
        async with NearPage(person) as page:
            welcome = await page.hello(ticket=ticket)
            await page.until("answer.opened")
        statements.seen.clear()
        async with NearPage(person) as page:
            await page.hello(resume=welcome["resume_token"])
            await page.until("answer.opened")
            return list(statements.seen)

    seen = asyncio.run(come_back())
    assert len(seen) <= RESUME_STATEMENTS, seen
    assert len([sql for sql in seen if sql.startswith("UPDATE")]) == 1
