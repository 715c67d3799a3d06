"""Events of one interview on their way to the page: numbered, the durable ones stored before they are shown.

Growing text is shown piece by piece and stored once, whole, when its part closes. Knows no sockets.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from apps.live.outbox import delta_joined
from apps.ops.metrics import observe
from inference import events as ev

logger = logging.getLogger(__name__)

CAPACITY = 4_000  # far more than a turn emits; reached only when the database is away for minutes

Store = Callable[[Sequence[ev.Event]], Awaitable[Sequence[ev.Event]]]
Show = Callable[[ev.Event], None]


@dataclass(frozen=True, slots=True)
class Entry:
    event: ev.Event
    stored: bool
    shown: bool = True


class GrowingText:
    """Turns a stream of events into entries, closing each growing part when something else follows."""

    def __init__(self) -> None:
        self._open: ev.FeedbackDelta | None = None

    def feed(self, event: ev.Event) -> list[Entry]:
        if not isinstance(event, ev.FeedbackDelta):
            closed = self._closed() if _ends_text(event) else []
            return [*closed, Entry(event, stored=isinstance(event, ev.DURABLE))]
        piece = Entry(event, stored=False)
        if self._open is not None and _same_part(self._open, event):
            self._open = delta_joined(self._open, event)
            return [piece]
        closed, self._open = self._closed(), event
        return [*closed, piece]

    def _closed(self) -> list[Entry]:
        whole, self._open = self._open, None
        return [] if whole is None else [Entry(whole, stored=True, shown=False)]


class EventLog:
    """`put` never waits; `run` writes batches in order. What `store` raises ends `run`."""

    def __init__(self, store: Store, show: Show) -> None:
        self._store, self._show = store, show
        self._growing = GrowingText()
        self._entries: deque[Entry] = deque()
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()

    def put(self, event: ev.Event) -> None:
        for entry in self._growing.feed(event):
            if len(self._entries) >= CAPACITY and not entry.stored:
                logger.warning("event log full: %s not shown", event.type)
                observe("message_dropped", 1)
                continue
            self._entries.append(entry)
        self._settled.clear()
        self._wanted.set()

    async def settle(self) -> None:
        """Wait until everything put so far is stored and shown."""
        await self._settled.wait()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while self._entries:
                batch = list(self._entries)
                await self._write(batch)
                for _ in batch:
                    self._entries.popleft()
            self._settled.set()

    async def _write(self, batch: Sequence[Entry]) -> None:
        durable = [entry.event for entry in batch if entry.stored]
        numbered = deque(await self._store(durable) if durable else ())
        for entry in batch:
            event = numbered.popleft() if entry.stored else entry.event
            if entry.shown:
                self._show(event)


def _ends_text(event: ev.Event) -> bool:
    return isinstance(event, ev.FeedbackDone | ev.FeedbackWithdrawn | ev.FeedbackScore | ev.FeedbackStarted)


def _same_part(one: ev.FeedbackDelta, other: ev.FeedbackDelta) -> bool:
    return (one.turn, one.rev, one.part, one.dimension) == (
        other.turn,
        other.rev,
        other.part,
        other.dimension,
    )
