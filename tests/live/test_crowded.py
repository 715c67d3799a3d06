"""A page that comes back in a crowd waits with its audio; nothing of a later question does."""

from __future__ import annotations

import asyncio

import pytest

from apps.live import intake
from apps.live.replay import Turns
from apps.live.spool import MAX_UNSYNCED_FRAMES
from tests.live.here import NearPage, Statements
from tests.live.stack import Person


def test_the_next_question_has_room_although_the_welcome_had_none(
    statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Turns(entering=0)
    monkeypatch.setattr(intake, "turns", crowd)
    crowd.arrives("another")
    person = Person(questions=3)
    ticket = person.ticket()

    async def scene() -> None:
        async with NearPage(person) as page:
            welcome = await page.hello(ticket=ticket)
            assert welcome["window"] == 0
            crowd.is_welcome("another")
            await page.say(type="skip", answer=1)
            while (await page.until("answer.opened"))["turn"] != 2:
                pass
            ack = await page.until("ack")
            while ack["answer"] != 2:
                ack = await page.until("ack")
            assert (ack["upto"], ack["window"]) == (-1, MAX_UNSYNCED_FRAMES)

    asyncio.run(scene())
