"""The way in of one socket, inside this process: what it waits for is bounded, what is away sends it off."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any, cast

import pytest
from django.db import InterfaceError, OperationalError

from apps.live import consumers, process, registry
from apps.live.close_codes import CloseCode, Refused
from apps.live.conductor import Conductor
from apps.live.consumers import LiveConsumer
from apps.live.registry import Registry
from apps.live.spool import SpoolBusyError
from tests.live.here import NearPage, Statements
from tests.live.stack import Person
from tests.live.test_presence import Socket


def closed_with(person: Person) -> int:
    async def come_in() -> int:
        async with NearPage(person) as page:
            await page.say(type="hello", ticket="t")
            return await page.close_code()

    return asyncio.run(come_in())


@pytest.mark.parametrize("away", [OperationalError, InterfaceError, SpoolBusyError])
def test_what_is_away_sends_the_page_off_to_try_again(
    away: type[Exception],
    statements: Statements,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(**_: Any) -> None:
        raise away("not there")

    monkeypatch.setattr(consumers, "admitted", fail)
    assert closed_with(Person()) == CloseCode.ERROR
    assert not [record for record in caplog.records if record.exc_info]


def test_a_welcome_that_takes_too_long_is_given_up(
    statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(consumers, "admitted", lambda **_: answers.wait(60))
    monkeypatch.setattr(consumers, "WELCOME_WITHIN_S", 0.2)
    try:
        assert closed_with(Person()) == CloseCode.ERROR
    finally:
        answers.set()


def test_a_page_that_is_gone_before_it_was_seen_leaves_nothing(statements: Statements) -> None:
    asyncio.run(NearPage(Person()).leave_at_once())
    assert process.live_sockets.sockets() == []


class Silent:
    """As much of a conductor as a tick needs."""

    def tick(self) -> None: ...


async def test_the_echo_of_a_heartbeat_tells_the_outbox_how_far_the_page_is() -> None:
    consumer = LiveConsumer()
    consumer._conductor = cast(Conductor, Silent())
    consumer.tick(1.0)
    beat = json.loads(await consumer._outbox.take())
    await asyncio.sleep(0.001)
    consumer._receive(None, json.dumps({"type": "heartbeat", "n": beat["n"]}))
    assert consumer._outbox.rtt_s > 0


async def test_an_older_socket_that_does_not_let_go_sends_the_newer_one_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "LET_GO_WITHIN_S", 0.02)
    sockets, older, newer = Registry(), Socket(), Socket()
    await sockets.enter("an interview", older, limit=9)
    with pytest.raises(Refused) as refused:
        await sockets.enter("an interview", newer, limit=9)
    assert refused.value.code == CloseCode.ERROR
    assert older.ended == [CloseCode.SUPERSEDED]
