"""What goes down one socket: in order, bounded, growing text in few pieces. Knows no sockets.

A slow reader loses partial transcripts first, which the next one replaces anyway; never an event that counts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress

from apps.live.close_codes import CloseCode, Refused
from apps.live.messages import Ack, ServerHeartbeat, ToPage
from apps.ops.metrics import observe
from inference import events as ev

CAPACITY = 512
PIECE_EVERY_S = 0.02  # at most 50 pieces of growing text a second
JOINED_AT_MOST = 3  # the rules say everything at once: it still grows before the eye
FAR_RTT_S = 0.1  # beyond it a piece waits for two more, or this long:
JOIN_WITHIN_S = 0.05
BACKLOG = 64  # beyond it, catching up matters more

Outgoing = ToPage | ev.Event
_PartKey = tuple[int, int, str, str | None]


class Outbox:
    def __init__(self, capacity: int = CAPACITY) -> None:
        self.dropped = 0
        self.rtt_s = 0.0  # the round trip to the page, as last measured
        self._capacity = capacity
        self._entries: deque[Outgoing] = deque()
        self._ready = asyncio.Event()
        self._joined = 0  # pieces in the last entry
        self._joined_from = 0.0  # when its first piece came
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
        self._joined, self._joined_from = 1, time.monotonic()
        self._ready.set()

    async def take(self) -> str:
        """The next message as JSON. Only the second and later pieces of one growing text wait."""
        while not self._entries:
            self._ready.clear()
            await self._ready.wait()
        key = _part_of(self._entries[0])
        if key is not None and key == self._piece_of:
            await self._hold()
        message = self._entries.popleft()
        if key is not None:
            self._piece_of, self._piece_at = key, time.monotonic()
        return encoded(message)

    async def _hold(self) -> None:
        """Wait as long as the head may: until it is due, full, or followed by something else."""
        while True:
            now = time.monotonic()
            grows = len(self._entries) == 1 and self._joined < JOINED_AT_MOST
            wait_s = piece_wait_s(
                rtt_s=self.rtt_s,
                since_last_s=now - self._piece_at,
                since_first_s=now - self._joined_from if grows else None,
            )
            if wait_s <= 0:
                return
            self._ready.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._ready.wait()

    def _merged(self, message: Outgoing) -> bool:
        match message:
            case Ack():
                return self._replaced(message)
            case ServerHeartbeat():
                return self._replaced(message)
            case ev.TranscriptPartial():
                self._forget_partials(message.turn)
            case ev.FeedbackDelta() if self._entries:
                last = self._entries[-1]
                if isinstance(last, ev.FeedbackDelta) and self._joins(last, message):
                    self._entries[-1] = delta_joined(last, message)
                    self._joined += 1
                    self._ready.set()
                    return True
        return False

    def _joins(self, last: ev.FeedbackDelta, piece: ev.FeedbackDelta) -> bool:
        few = self._joined < JOINED_AT_MOST or len(self._entries) > BACKLOG
        return few and _part_of(last) == _part_of(piece)

    def _replaced(self, newer: Ack | ServerHeartbeat) -> bool:
        """Only the newest heartbeat counts, and the newest acknowledgement of each answer."""
        for at, queued in enumerate(self._entries):
            same = getattr(queued, "answer", None) == getattr(newer, "answer", None)
            if type(queued) is type(newer) and same:
                self._entries[at] = newer
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


def encoded(message: Outgoing) -> str:
    if type(message) is Ack:  # one for every other frame: numbers need no general encoder
        return f'{{"type":"ack","answer":{message.answer},"upto":{message.upto},"window":{message.window}}}'
    return message.model_dump_json()


def piece_wait_s(*, rtt_s: float, since_last_s: float, since_first_s: float | None) -> float:
    """How long a later piece of a part still waits; at most 0: not at all.

    `since_first_s` is how long its oldest words wait already, None once no more can be joined to them.
    """
    wait_s = PIECE_EVERY_S - since_last_s
    if rtt_s > FAR_RTT_S and since_first_s is not None:
        wait_s = max(wait_s, JOIN_WITHIN_S - since_first_s)
    return wait_s


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
