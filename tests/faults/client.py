"""A live page in Python: it records, sends, keeps what is not committed, and comes back by itself.

    page = LivePage(Visitor("http://127.0.0.1:8000", interview_uuid, "sessionid=…"))
    async with page:
        await page.until(lambda: page.open_answer)   # welcomed, and a question is on the table
        page.record(30)                              # 30 frames of 100 ms, each unlike any other
        page.hand_in()                               # no more of this answer
        await page.until(lambda: page.answers[1].committed)

Hundreds fit into one process: nothing here polls, and nothing needs Django. What the page saw stays in
`welcomes`, `closes`, `messages`, `events`, `attempts`; what it believes the server did wrong in `complaints`.
Without a resume token it fetches a ticket for each connection.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from apps.live.close_codes import CLOSE_TABLE, CloseCode, CloseRule
from tests.faults.entry import FINAL, LATER, Attempt, Habits, Stop, Visitor, dial, ticket_reply
from tests.faults.kept_answer import KeptAnswer
from tests.faults.link import Link

__all__ = ["Attempt", "Habits", "LivePage", "Visitor"]
MESSAGES_KEPT = 5_000
LOST_LINK = CloseRule(retry=True)  # no close frame: the network's doing
RULES = {int(code): rule for code, rule in CLOSE_TABLE.items()}


class LivePage:
    """Use as an async context manager; `close_tab` and `come_back` are a killed and a reopened browser."""

    def __init__(self, visitor: Visitor, *, seed: int = 0, habits: Habits | None = None) -> None:
        self.visitor, self.habits = visitor, habits or Habits()
        self.answers: dict[int, KeptAnswer] = {}
        self.open_answer = 0  # what may be recorded now; 0: nothing
        self.welcomes: list[dict[str, Any]] = []
        self.closes: list[int] = []  # 1006: without a close frame
        self.attempts: list[Attempt] = []
        self.outages_s: list[float] = []
        self.messages: deque[dict[str, Any]] = deque(maxlen=MESSAGES_KEPT)
        self.events: dict[int, dict[str, Any]] = {}
        self.complaints: list[str] = []
        self.ended = ""  # why the interview is over
        self.stopped = ""  # why the page does not come back by itself
        self.link: Link | None = None
        self.tamper: Callable[[bytes], list[bytes]] = lambda raw: [raw]  # between the page and its socket
        self.ignores: set[str] = set()  # types of messages that this page does not hear
        self.ack_told: Callable[[int, int, float], None] = lambda answer, upto, at: None
        self._seed, self._dice = seed, random.Random(seed)  # noqa: S311 - a seeded jitter
        self._resume, self._tried_resume = "", False
        self._goodbye = ""  # what `session.ended` said, while audio is still owed
        self._failures = 0
        self._spread_s = 0.0
        self._lost_at: float | None = None
        self._late_entry = False
        self._changed = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._asides: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> LivePage:
        self.come_back()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_tab()

    def come_back(self, *, late: bool = False) -> None:
        """Open the page (again). `late`: of a finished interview whose audio is not all there."""
        self.stopped, self._failures, self._spread_s, self._late_entry = "", 0, 0.0, late
        self._life = asyncio.create_task(self._live(), name=f"page {self._seed}")

    async def close_tab(self) -> None:
        """The browser is gone without a word; `answers` is what IndexedDB still holds."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)
            self._life = None
        self._resume = ""  # it was in memory only

    def cut(self) -> None:
        """This connection breaks."""
        if self.link is not None:
            self.link.socket.transport.abort()

    def record(self, frames: int, *, loud: bool = True, answer: int = 0) -> None:
        """The microphone gives so many frames of 100 ms."""
        kept = self.answers[answer or self.open_answer]
        kept.record(frames, loud=loud, seed=self._seed)
        self._wake()

    def hand_in(self, answer: int = 0) -> None:
        self.answers[answer or self.open_answer].over = True
        self._wake()

    def lose(self, first: int, end: int, *, answer: int = 0, why: str = "lost") -> None:
        """The page's own store lost frames before they were sent: only a `gap` can skip them."""
        self.answers[answer or self.open_answer].lose(first, end, why)

    async def say(self, **message: Any) -> None:
        if self.link is not None:
            await self.link.say(**message)

    def _wake(self) -> None:
        if self.link is not None:
            self.link.work.set()

    async def until(self, true: Callable[[], Any], within_s: float = 60.0) -> Any:
        """Wait for what the page itself notices."""
        try:
            async with asyncio.timeout(within_s):
                while not (found := true()):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise AssertionError(f"not within {within_s:.0f} s; {self.state()}") from None
        return found

    def has(self, kind: str, **fields: Any) -> dict[str, Any] | None:
        """The latest message of this type with these fields."""
        found = (one for one in reversed(self.messages) if one["type"] == kind)
        return next((one for one in found if all(one.get(name) == fields[name] for name in fields)), None)

    def state(self) -> str:
        """What the page shows, in one line: never a spinner without a word."""
        where = "live" if self.link is not None else self.ended or self.stopped or "reconnecting"
        acked = {number: kept.acked for number, kept in self.answers.items()}
        last = [one["type"] for one in self.messages][-6:]
        tries = [f"{one.outcome} {one.took_s:.1f} s" for one in self.attempts[-4:]]
        return f"page {where}; acked {acked}; closes {self.closes[-4:]}; tried {tries}; last heard {last}"

    # -- coming in ---------------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            while not self.ended:
                await self._visit()
                if not self.ended:
                    await asyncio.sleep(self._wait_s())
        except Stop as stop:
            self.stopped = str(stop)
        except Exception as exc:
            self.complaints.append(f"the page could not follow: {exc!r}")
            raise
        finally:
            self._changed.set()

    def _wait_s(self) -> float:
        """Full jitter, or what the server asked for."""
        if self._spread_s:
            spread_s, self._spread_s = self._spread_s, 0.0
            return self._dice.uniform(0, spread_s)
        longest = min(self.habits.longest_wait_s, self.habits.first_wait_s * 2**self._failures)
        self._failures += 1
        return self._dice.uniform(0, longest)

    async def _visit(self) -> None:
        """One connection from its first byte to its last."""
        attempt = Attempt(time.monotonic())
        self.attempts.append(attempt)
        try:
            hello = await self._way_in()
            async with asyncio.timeout(self.habits.welcome_s):
                socket = await dial(self.visitor)
        except (OSError, TimeoutError, InvalidHandshake, ValueError) as exc:
            self._note(attempt, "no answer" if isinstance(exc, TimeoutError | OSError) else "refused")
            return
        try:
            await self._talk(socket, hello, attempt)
        except TimeoutError:
            self._note(attempt, "no answer")
        except ConnectionClosed as closed:
            self._note(attempt, "closed")
            self._closed(closed)
        finally:
            self.link = None
            socket.transport.abort()
            self._changed.set()

    def _note(self, attempt: Attempt, outcome: str) -> None:
        if attempt.outcome == "trying":
            attempt.outcome, attempt.took_s = outcome, time.monotonic() - attempt.began
        self._lost_at = self._lost_at or time.monotonic()
        self._changed.set()

    async def _way_in(self) -> dict[str, Any]:
        kept = self.answers.get(self.open_answer)
        hello: dict[str, Any] = {"type": "hello", "events_from": max(self.events, default=0), "rate": 16_000}
        if kept is not None:
            hello |= {"answer": kept.number, "have_from": 0, "have_to": len(kept.frames), "epoch": kept.epoch}
        if self._resume:
            return {**hello, "resume": self._resume}
        return {**hello, "ticket": await self._ticket()}

    async def _ticket(self) -> str:
        reply = await ticket_reply(self.visitor, late=self._late_entry, within_s=self.habits.welcome_s)
        if reply.status in LATER:
            self._spread_s = float(reply.headers.get("retry-after", "1"))
        if reply.status in FINAL:
            raise Stop(f"no ticket: {reply.status} {reply.body[:60]}")
        if reply.status == 500:
            self.complaints.append("HTTP 500 for a ticket")
        if reply.status != 200:
            raise ValueError(f"no ticket: {reply.status}")
        return str(reply.json()["ticket"])

    def _closed(self, closed: ConnectionClosed) -> None:
        code = closed.rcvd.code if closed.rcvd is not None else 1006
        self.closes.append(code)
        rule = RULES.get(code, LOST_LINK)
        self._spread_s = self._spread_s or rule.spread_ms / 1_000
        turned_away = code == CloseCode.UNAUTHENTICATED and self.attempts[-1].outcome == "closed"
        if not rule.retry and not (turned_away and self._tried_resume):
            raise Stop(f"closed with {code}")

    # -- one connection ----------------------------------------------------------------------------------

    async def _talk(self, socket: ClientConnection, hello: dict[str, Any], attempt: Attempt) -> None:
        self._tried_resume = "resume" in hello
        self._resume = ""  # single use from here on, whether or not a welcome follows
        await socket.send(json.dumps(hello))
        async with asyncio.timeout(self.habits.welcome_s):
            welcome = await self._first_word(socket)
        attempt.took_s, attempt.outcome = time.monotonic() - attempt.began, "welcome"
        self.link = link = Link(socket, self.answers)
        self._welcomed(link, welcome)
        helpers = [
            asyncio.create_task(link.keep_sending(self._tampered)),
            asyncio.create_task(link.watch(self.habits)),
        ]
        try:
            while True:
                self._heard(link, json.loads(await socket.recv()))
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)

    def _tampered(self, raw: bytes) -> list[bytes]:
        """As it is asked for at the moment: a scenario may change its mind on an open connection."""
        return self.tamper(raw)

    async def _first_word(self, socket: ClientConnection) -> dict[str, Any]:
        """The welcome. A server that cannot give one says why, and closes."""
        while True:
            message: dict[str, Any] = json.loads(await socket.recv())
            if message["type"] == "welcome":
                return message
            self.messages.append(message)
            if message["type"] not in {"problem", "session.ended", "drain"}:
                self.complaints.append(f"{message['type']} before the welcome")

    def _welcomed(self, link: Link, welcome: dict[str, Any]) -> None:
        self.welcomes.append(welcome)
        self.messages.append(welcome)
        self._resume, self._failures = welcome.get("resume_token", ""), 0
        if self._lost_at is not None:
            self.outages_s.append(time.monotonic() - self._lost_at)
            self._lost_at = None
        if welcome["answer"]:
            self._takes(link, welcome)
            self.open_answer = welcome["answer"]
        for late in welcome.get("late", ()):
            self._takes(link, late)
        self._late_entry = False
        link.work.set()
        self._changed.set()

    def _takes(self, link: Link, told: dict[str, Any]) -> None:
        """The server takes this answer's frames from `next` on."""
        kept = self.answers.setdefault(told["answer"], KeptAnswer(told["answer"]))
        self.complaints += kept.welcomed(told["epoch"], told["next"])
        link.rooms[kept.number] = told["next"] - 1 + told["window"]

    def _heard(self, link: Link, message: dict[str, Any]) -> None:
        if message["type"] in self.ignores:
            return
        link.heard_at = time.monotonic()
        self.messages.append(message)
        if message.get("eid"):
            self._fold(message)
        handler = getattr(self, f"_on_{message['type'].replace('.', '_')}", None)
        if handler is not None:
            handler(link, message)
        self._changed.set()

    def _fold(self, event: dict[str, Any]) -> None:
        """Events by number: the same again changes nothing, another under the same number is a fault."""
        known = self.events.setdefault(event["eid"], event)
        if known != event:
            self.complaints.append(f"event {event['eid']} came as {known['type']} and as {event['type']}")

    def _on_ack(self, link: Link, ack: dict[str, Any]) -> None:
        kept = self.answers[ack["answer"]]
        if ack["upto"] > kept.acked:
            link.moved_at = time.monotonic()
            self.ack_told(kept.number, ack["upto"], link.moved_at)
        self.complaints += kept.acknowledged(ack["upto"])
        link.rooms[kept.number] = ack["upto"] + ack["window"]
        link.work.set()

    def _on_nack(self, link: Link, nack: dict[str, Any]) -> None:
        kept = self.answers[nack["answer"]]
        kept.sent = min(kept.sent, nack["from"])
        kept.end_said = False
        link.work.set()

    def _on_answer_opened(self, link: Link, opened: dict[str, Any]) -> None:
        number = opened["turn"]
        if number > max(self.answers, default=0):
            kept = self.answers.setdefault(number, KeptAnswer(number))
            kept.epoch = None
            self.open_answer = number
        if number == self.open_answer:
            link.rooms.setdefault(number, self.welcomes[-1]["window"] - 1)
            link.work.set()

    def _on_turn_ended(self, link: Link, ended: dict[str, Any]) -> None:
        """The server takes the floor: what was recorded is handed in, nothing more is recorded."""
        kept = self.answers.get(ended["turn"])
        if kept is not None and not kept.over:
            kept.over = True
            link.work.set()

    def _on_committed(self, link: Link, committed: dict[str, Any]) -> None:
        kept = self.answers.get(committed["answer"])
        if kept is not None:
            self.complaints += kept.commit(committed["sha256"])
            link.rooms.pop(kept.number, None)
        if self.open_answer == committed["answer"]:
            self.open_answer = 0
        self._leave_when_done(link)

    def _on_heartbeat(self, link: Link, beat: dict[str, Any]) -> None:
        self._aside(link.say(type="heartbeat", n=beat.get("n", 0)))

    def _on_drain(self, link: Link, drain: dict[str, Any]) -> None:
        self._spread_s = drain["spread_ms"] / 1_000

    def _on_reload(self, link: Link, reload: dict[str, Any]) -> None:
        self.events.clear()

    def _on_session_ended(self, link: Link, ended: dict[str, Any]) -> None:
        self._goodbye = ended["reason"]
        self._leave_when_done(link)

    def _leave_when_done(self, link: Link) -> None:
        """The interview is over and the server has all that was recorded, or takes no more of it."""
        owed = [number for number in link.rooms if self.answers[number].owed]
        if self._goodbye and not owed:
            self.ended = self._goodbye
            self._aside(link.socket.close())

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(_quietly(work))
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(ConnectionClosed, OSError):
        await work
