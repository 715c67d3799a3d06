"""Who may write an interview, in rows alone: seats, their tokens, and the sign that they are held."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.interviews import views
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import event_append
from apps.interviews.services.seats import (
    InterviewGone,
    Seat,
    Superseded,
    TicketRefused,
    resume_allowed,
    seat_take,
    seats_keep,
)
from inference import events as ev
from tests.live.stack import Person

pytestmark = pytest.mark.django_db


def read(person: Person) -> Interview:
    return Interview.objects.get(pk=person.interview.pk)


def test_the_first_seat_starts_the_interview_and_no_later_one_does_it_again() -> None:
    person = Person()
    first, _ = seat_take(interview=read(person))
    started = read(person)
    second, _ = seat_take(interview=started)
    assert (first.generation, second.generation) == (1, 2)
    assert started.status == "live"
    assert read(person).started_at == started.started_at


def test_a_seat_is_taken_in_one_statement_and_fences_the_one_before() -> None:
    person = Person()
    older, token = seat_take(interview=read(person))
    interview = read(person)
    with CaptureQueriesContext(
        connection,
    ) as taken:
        newer, _ = seat_take(interview=interview, resume=token)
    assert len(taken) == 1
    event_append(seat=newer, events=[ev.AnswerOpened(turn=1)])
    with pytest.raises(Superseded):
        event_append(seat=older, events=[ev.AnswerOpened(turn=2)])


def test_of_two_sockets_with_the_same_token_one_gets_the_seat() -> None:
    person = Person()
    _, token = seat_take(interview=read(person))
    one, other = read(person), read(person)
    assert resume_allowed(interview=one, raw=token)
    assert resume_allowed(interview=other, raw=token)
    seat, _ = seat_take(interview=one, resume=token)
    with pytest.raises(TicketRefused):
        seat_take(interview=other, resume=token)
    assert read(person).generation == seat.generation


def test_two_sockets_with_tickets_get_seats_one_after_the_other() -> None:
    person = Person()
    one, other = read(person), read(person)
    seats = [seat_take(interview=interview)[0].generation for interview in (one, other)]
    assert seats == [1, 2]


def test_a_generation_raised_by_somebody_else_does_not_spend_the_token() -> None:
    person = Person()
    _, token = seat_take(interview=read(person))
    interview = read(person)
    Interview.objects.filter(pk=interview.pk).update(generation=7, status="finished")
    seat, _ = seat_take(interview=interview, resume=token)
    assert seat.generation == 8
    assert read(person).status == "finished"


@pytest.mark.parametrize("raw", ["", "guess"])
def test_a_guessed_or_empty_token_is_none(raw: str) -> None:
    person = Person()
    assert not resume_allowed(interview=read(person), raw=raw)
    seat_take(interview=read(person))
    assert not resume_allowed(interview=read(person), raw=raw)


def test_nobody_sits_in_an_interview_that_was_erased() -> None:
    person = Person()
    interview = read(person)
    Interview.objects.filter(pk=interview.pk).delete()
    with pytest.raises(InterviewGone):
        seat_take(interview=interview)


def test_all_held_seats_are_noted_in_two_statements_and_lost_ones_are_told() -> None:
    held, lost, withdrawn, erased = people = [Person() for _ in range(4)]
    seats = [seat_take(interview=read(person))[0] for person in people]
    seat_take(interview=read(lost))
    rows = Interview.objects.filter(pk=withdrawn.interview.pk)
    rows.update(status="notice", consented_at=None)
    Interview.objects.filter(pk=erased.interview.pk).delete()
    before = {person: read(person) for person in (held, lost, withdrawn)}
    with CaptureQueriesContext(connection) as kept:
        standings = seats_keep(seats=seats)
    assert len(kept) == 2
    raised = {person: read(person).beat - row.beat for person, row in before.items()}
    assert raised == {held: 1, lost: 0, withdrawn: 0}
    assert _later(before[held], read(held))  # a page may come back 15 min after its socket, not its welcome
    assert standings[lost.interview.pk].generation == 2
    assert not standings[withdrawn.interview.pk].consented
    assert erased.interview.pk not in standings
    assert seats_keep(seats=[Seat(erased.interview.pk, 1)]) == {}


def _later(before: Interview, after: Interview) -> bool:
    assert before.resume_expires_at is not None
    assert after.resume_expires_at is not None
    return after.resume_expires_at > before.resume_expires_at


@pytest.fixture
def finished() -> Person:
    person = Person()
    seat_take(interview=read(person))
    question = person.interview.template.questions.get(position=1)
    Turn.objects.create(interview=person.interview, number=1, question=question, status="answered")
    Interview.objects.filter(pk=person.interview.pk).update(status="finished")
    return person


def asked(person: Person, query: str = "") -> Any:
    client = Client()
    client.cookies["sessionid"] = person.session.session_key
    return client.post(f"/interviews/{person.interview.public_id}/ticket/{query}")


def test_a_finished_interview_is_entered_only_for_audio_that_it_lacks(finished: Person) -> None:
    assert asked(finished).status_code == 409
    assert asked(finished, "?late=1").status_code == 409
    finished.interview.turns.update(audio_complete=False)
    assert asked(finished).status_code == 409
    assert asked(finished, "?late=0").status_code == 409
    assert asked(finished, "?late=1").json()["ticket"]


def test_without_a_database_the_page_is_told_when_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_: object) -> str:
        raise OperationalError("the database is away")

    monkeypatch.setattr(views, "ticket_issue", away)
    answer = asked(Person())
    assert (answer.status_code, answer.json()) == (503, {"error": "busy"})
    assert int(answer["Retry-After"]) > 0
