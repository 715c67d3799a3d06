"""One connection of a page: what it may send, what it has sent, and whether it is still alive."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.faults.entry import Habits
from tests.faults.kept_answer import KeptAnswer


@dataclass(slots=True)
class Link:
    """`rooms`: for each answer the server takes now, the highest seq it may be sent. `work`: look again."""

    socket: ClientConnection
    answers: Mapping[int, KeptAnswer]
    rooms: dict[int, int] = field(default_factory=dict)
    work: asyncio.Event = field(default_factory=asyncio.Event)
    heard_at: float = field(default_factory=time.monotonic)
    moved_at: float = field(default_factory=time.monotonic)

    async def say(self, **message: Any) -> None:
        await self.socket.send(json.dumps(message))

    async def keep_sending(self, tamper: Callable[[bytes], list[bytes]]) -> None:
        """What was promised is not sent again; everything else is, from the first frame that is not."""
        for kept in self.answers.values():
            kept.sent, kept.end_said = kept.acked + 1, False
        with suppress(ConnectionClosed):
            while True:
                self.work.clear()
                for number in sorted(self.rooms):
                    await self._send_rest(self.answers[number], tamper)
                await self.work.wait()

    async def _send_rest(self, kept: KeptAnswer, tamper: Callable[[bytes], list[bytes]]) -> None:
        """Everything there is room for, holes as gaps, and `end` once all is out."""
        while kept.sent < len(kept.frames) and kept.sent <= self.rooms.get(kept.number, -1):
            gap = kept.gap_at(kept.sent)
            if gap is not None:
                await self.say(type="gap", answer=kept.number, **gap)
                kept.sent = gap["to"]
                continue
            raw = kept.frames[kept.sent]
            if kept.sent == kept.acked + 1:
                self.moved_at = time.monotonic()  # from here on an ACK is due
            kept.sent += 1
            for piece in tamper(raw):
                await self.socket.send(piece)
        if kept.over and not kept.end_said and kept.sent >= len(kept.frames):
            kept.end_said = True
            last_seq = len(kept.frames) - 1
            await self.say(type="end", answer=kept.number, last_seq=last_seq, sha256=kept.sha256())

    async def watch(self, habits: Habits) -> None:
        """A socket that is open but dead is worse than a closed one."""
        while True:
            await asyncio.sleep(habits.tick_s)
            now = time.monotonic()
            waiting = any(map(self._waits_for_ack, self.rooms))
            if now - self.heard_at > habits.silent_s or (waiting and now - self.moved_at > habits.unacked_s):
                self.socket.transport.abort()
                return

    def _waits_for_ack(self, number: int) -> bool:
        kept = self.answers[number]
        return kept.acked + 1 < kept.sent and self.rooms[number] > kept.acked
