"""Interviews that nobody came back to are expired after the grace time; one whose socket lives is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import F

from apps.interviews.models import Interview
from apps.interviews.services.seats import Seat
from apps.live import finaliser
from apps.live.finaliser import LOOK_S, Finaliser
from apps.live.registry import Registry
from tests.assessment import rows
from tests.clock import Clock
from tests.live.here import Statements, database_threads
from tests.live.stack import ANSWER, Page, Person, Server, wait_until

GRACE_S = 20.0


@pytest.fixture(autouse=True)
def same_rows(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with database_threads(monkeypatch, Statements()):
        yield


class Socket:
    """As much of one as the registry shows."""

    def __init__(self, seat: Seat | None) -> None:
        self.seat = seat


class Expiring:
    """Closes interviews as the real one does, or fails as told. Those of other tests are left alone."""

    def __init__(self) -> None:
        self.oldest = rows.interview().pk
        self.asked: list[int] = []
        self.faults: Iterator[Exception] = iter(())

    def __call__(self, interview_id: int, beat: int) -> bool:
        if interview_id < self.oldest:
            return False
        self.asked.append(interview_id)
        if fault := next(self.faults, None):
            raise fault
        return bool(Interview.objects.filter(pk=interview_id, beat=beat).update(status="finished"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def expiring() -> Expiring:
    return Expiring()


@pytest.fixture
def sockets() -> Registry:
    return Registry()


@pytest.fixture
def finalise(clock: Clock, expiring: Expiring, sockets: Registry) -> Finaliser:
    return Finaliser(sockets, expiring, GRACE_S, clock)


def live() -> Interview:
    interview = rows.interview()
    Interview.objects.filter(pk=interview.pk).update(status="live")
    return interview


def look(finalise: Finaliser, clock: Clock, times: int, beating: Interview | None = None) -> None:
    for _ in range(times):
        if beating is not None:
            Interview.objects.filter(pk=beating.pk).update(beat=F("beat") + 1)
        asyncio.run(finalise.look())
        clock.now_s += LOOK_S


def test_a_left_interview_is_expired_once_after_its_grace_time(
    finalise: Finaliser, clock: Clock, expiring: Expiring
) -> None:
    left = live()
    Interview.objects.filter(pk=left.pk).update(beat=7)
    look(finalise, clock, 4)
    assert expiring.asked == []
    look(finalise, clock, 10)
    assert expiring.asked == [left.pk]


def test_an_interview_that_another_process_holds_is_left_alone(
    finalise: Finaliser, clock: Clock, expiring: Expiring
) -> None:
    look(finalise, clock, 20, beating=live())
    assert expiring.asked == []


def test_one_whose_socket_is_here_is_not_expired_although_its_beat_stands_still(
    finalise: Finaliser, clock: Clock, expiring: Expiring, sockets: Registry
) -> None:
    here, left = live(), live()
    socket: Any = Socket(Seat(here.pk, 1))
    before_its_hello: Any = Socket(None)
    sockets.arrive(socket, 10)
    sockets.arrive(before_its_hello, 10)
    look(finalise, clock, 10)
    assert expiring.asked == [left.pk]
    sockets.depart(socket)
    look(finalise, clock, 1)
    assert expiring.asked == [left.pk, here.pk]


def test_only_interviews_under_way_are_watched(finalise: Finaliser, clock: Clock, expiring: Expiring) -> None:
    for status in ("notice", "finished"):
        Interview.objects.filter(pk=rows.interview().pk).update(status=status)
    look(finalise, clock, 10)
    assert expiring.asked == []


def test_one_that_cannot_be_closed_is_tried_again_and_keeps_no_other_open(
    finalise: Finaliser, clock: Clock, expiring: Expiring
) -> None:
    first, second = live(), live()
    expiring.faults = iter([OSError("the disk is full")])
    look(finalise, clock, 5)
    assert expiring.asked == [first.pk, second.pk]
    look(finalise, clock, 3)
    assert expiring.asked == [first.pk, second.pk, first.pk]


def test_a_server_closes_what_was_left_and_nothing_that_it_holds(
    database: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = Server(
        tmp_path_factory.mktemp("var"), database, ANSWER, RESUME_GRACE_S="10", IDLE_S="600"
    ).start()
    try:
        held, left = Person(), Person()
        with Page(server, held) as page:
            with Page(server, left) as leaving:
                leaving.hello()
                leaving.until("answer.opened")
            page.hello()
            wait_until(lambda: status(left) == "finished", 120)
            assert status(held) == "live"
    finally:
        server.stop()


def status(person: Person) -> str:
    return Interview.objects.get(pk=person.interview.pk).status


async def test_watching_goes_on_after_a_fault(finalise: Finaliser, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    seen_again = asyncio.Event()

    async def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise OSError
        seen_again.set()

    monkeypatch.setattr(finaliser, "LOOK_S", 0.0)
    monkeypatch.setattr(finalise, "look", look)
    watching = asyncio.create_task(finalise.watch())
    async with asyncio.timeout(60):
        await seen_again.wait()
    assert not watching.done()
    watching.cancel()
