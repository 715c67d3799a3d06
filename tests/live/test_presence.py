"""Sockets whose rights are gone are ended, and only those; interviews that are held show it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models import QuerySet

from apps.interviews.models import Interview
from apps.interviews.selectors import Standing
from apps.interviews.services.seats import Seat
from apps.live import presence, process
from apps.live.close_codes import CloseCode
from apps.live.registry import Registry
from tests.live.stack import WITHIN_S, Page, Person, Server, wait_until


class Socket:
    """As much of a live socket as the process's loops see."""

    def __init__(self, seat: Seat | None = None) -> None:
        self.gone = asyncio.Event()
        self.seat = seat
        self.ended: list[CloseCode] = []
        self.told_erased = False
        self.ticks = 0
        self.broken = False
        self.messages: list[Mapping[str, Any]] = []

    def end(self, code: CloseCode, why: str) -> None:
        self.ended.append(code)

    def erased(self) -> None:
        self.told_erased = True

    def told(self, message: Mapping[str, Any]) -> None:
        self.messages.append(message)

    def tick(self, passed_s: float) -> None:
        self.ticks += 1
        if self.broken:
            raise RuntimeError("broken")


def registry(*sockets: Socket) -> Registry:
    here = Registry()
    for socket in sockets:
        here.arrive(socket, limit=100)
    return here


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not true():
            await asyncio.sleep(0.01)


class Rows:
    """What the one question about all seats is answered with; `faults` come first."""

    def __init__(self, standings: dict[int, Standing], *faults: Exception) -> None:
        self.standings, self.faults = standings, list(faults)
        self.asked: list[tuple[Seat, ...]] = []

    async def __call__(self, work: object, *, seats: tuple[Seat, ...]) -> dict[int, Standing]:
        self.asked.append(seats)
        if self.faults:
            raise self.faults.pop(0)
        return self.standings


async def test_each_socket_is_judged_by_how_its_interview_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    fine, older, withdrawn, erased = sockets = [Socket(Seat(pk, 2)) for pk in (1, 2, 3, 4)]
    waiting = Socket()  # no seat yet
    rows = Rows({1: Standing(2, True), 2: Standing(3, True), 3: Standing(2, False)})
    monkeypatch.setattr(presence, "in_database", rows)
    await presence.look(registry(*sockets, waiting))
    assert len(rows.asked) == 1
    assert sorted(seat.interview_id for seat in rows.asked[0]) == [1, 2, 3, 4]
    assert (fine.ended, fine.told_erased) == ([], False)
    assert older.ended == [CloseCode.SUPERSEDED]
    assert withdrawn.ended == [CloseCode.NO_CONSENT]
    assert erased.told_erased
    assert (waiting.ended, waiting.told_erased) == ([], False)


async def test_nobody_here_is_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows({})
    monkeypatch.setattr(presence, "in_database", rows)
    await presence.look(registry(Socket()))
    assert rows.asked == []


async def test_without_a_database_every_socket_stays_and_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    socket = Socket(Seat(1, 1))
    rows = Rows({1: Standing(2, True)}, OperationalError("away"), RuntimeError("a fault of ours"))
    monkeypatch.setattr(presence, "in_database", rows)
    watching = asyncio.create_task(presence.watch(registry(socket), every_s=0.01))
    await until(lambda: bool(socket.ended))
    watching.cancel()
    assert len(rows.asked) >= 3


async def test_one_timer_ticks_every_socket_and_a_broken_one_goes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.01)
    broken, fine = Socket(), Socket()
    broken.broken = True
    ticking = asyncio.create_task(process.tick(registry(broken, fine)))
    await until(lambda: fine.ticks >= 3)
    ticking.cancel()
    assert set(broken.ended) == {CloseCode.ERROR}
    assert fine.ended == []


def test_within_one_look_every_page_learns_how_it_stands(server: Server) -> None:
    held, older, withdrawn, erased = people = [Person() for _ in range(4)]
    with ExitStack() as closing:
        pages = [closing.enter_context(Page(server, person)) for person in people]
        for page in pages:
            page.hello()
        beat = beat_of(held)
        row_of(older).update(generation=7)
        row_of(withdrawn).update(status="notice", consented_at=None)
        row_of(erased).delete()
        assert [page.close_code() for page in pages[1:]] == [4409, 4403, 4403]
        assert pages[3].of("session.ended")[-1]["reason"] == "deleted"
        pages[0].until("heartbeat", n=1)
        pages[0].say(type="heartbeat", n=1)
        pages[0].say(type="heartbeat")  # a page that does not know which one it answers
        pages[0].until("heartbeat", n=2)
        wait_until(lambda: beat_of(held) > beat)


def row_of(person: Person) -> QuerySet[Interview]:
    return Interview.objects.filter(pk=person.interview.pk)


def beat_of(person: Person) -> int:
    return row_of(person).get().beat
