"""What goes down one socket: in order, bounded, growing text in few pieces. Knows no sockets.

A slow reader loses partial transcripts first, which the next one replaces anyway; never an event that counts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from apps.live.close_codes import CloseCode, Refused
from apps.live.messages import Ack, ServerHeartbeat, ToPage
from apps.ops.metrics import observe
from inference import events as ev

CAPACITY = 512
PIECE_EVERY_S = 0.02  # at most 50 pieces of growing text a second
JOINED_AT_MOST = 3  # the rules say everything at once: it still grows before the eye
BACKLOG = 64  # beyond it, catching up matters more

Outgoing = ToPage | ev.Event
_PartKey = tuple[int, int, str, str | None]


class Outbox:
    def __init__(self, capacity: int = CAPACITY) -> None:
        self.dropped = 0
        self._capacity = capacity
        self._entries: deque[Outgoing] = deque()
        self._ready = asyncio.Event()
        self._joined = 0  # pieces in the last entry
        self._piece_of: _PartKey | None = None
        self._piece_at = 0.0

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, message: Outgoing) -> None:
        """Queue a message, or merge it with a queued one. Raises Refused (4408) when full."""
        if self._merged(message):
            return
        if len(self._entries) >= self._capacity:
            self._drop_one()
        self._entries.append(message)
        self._joined = 1
        self._ready.set()

    async def take(self) -> str:
        """The next message as JSON. Only the second and later pieces of one growing text wait."""
        while not self._entries:
            self._ready.clear()
            await self._ready.wait()
        key = _part_of(self._entries[0])
        if key is not None and key == self._piece_of:
            await asyncio.sleep(self._piece_at + PIECE_EVERY_S - time.monotonic())
        message = self._entries.popleft()
        if key is not None:
            self._piece_of, self._piece_at = key, time.monotonic()
        return message.model_dump_json()

    def _merged(self, message: Outgoing) -> bool:
        match message:
            case Ack():
                return self._replaced(message)
            case ServerHeartbeat():
                return any(isinstance(queued, ServerHeartbeat) for queued in self._entries)
            case ev.TranscriptPartial():
                self._forget_partials(message.turn)
            case ev.FeedbackDelta() if self._entries:
                last = self._entries[-1]
                if isinstance(last, ev.FeedbackDelta) and self._joins(last, message):
                    self._entries[-1] = delta_joined(last, message)
                    self._joined += 1
                    return True
        return False

    def _joins(self, last: ev.FeedbackDelta, piece: ev.FeedbackDelta) -> bool:
        few = self._joined < JOINED_AT_MOST or len(self._entries) > BACKLOG
        return few and _part_of(last) == _part_of(piece)

    def _replaced(self, ack: Ack) -> bool:
        for at, queued in enumerate(self._entries):
            if isinstance(queued, Ack) and queued.answer == ack.answer:
                self._entries[at] = ack
                return True
        return False

    def _forget_partials(self, turn: int) -> None:
        for queued in [e for e in self._entries if isinstance(e, ev.TranscriptPartial) and e.turn == turn]:
            self._entries.remove(queued)

    def _drop_one(self) -> None:
        for queued in self._entries:
            if isinstance(queued, ev.TranscriptPartial | ServerHeartbeat):
                self._entries.remove(queued)
                self.dropped += 1
                observe("message_dropped", 1)
                return
        raise Refused(CloseCode.RATE, f"{len(self._entries)} messages unread")


def delta_joined(first: ev.FeedbackDelta, more: ev.FeedbackDelta) -> ev.FeedbackDelta:
    """Two pieces of one growing text as one."""
    return first.model_copy(
        update={
            "text": first.text + more.text,
            "value": first.value if more.value is None else more.value,
            "quotes": first.quotes or more.quotes,
        }
    )


def _part_of(message: Outgoing) -> _PartKey | None:
    if not isinstance(message, ev.FeedbackDelta):
        return None
    return (message.turn, message.rev, message.part, message.dimension)
