"""A bounded hand-off between two tasks of a session."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Channel(Generic[T]):
    """An async iterator fed by `put`. When full, the oldest entry is dropped and counted.

    Live audio is worth more fresh than complete, so a full channel never blocks the sender.
    """

    def __init__(self, capacity: int) -> None:
        self.dropped = 0
        self._entries: deque[T] = deque(maxlen=capacity)
        self._ready = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: T) -> None:
        if len(self._entries) == self._entries.maxlen:
            self.dropped += 1
        self._entries.append(entry)
        self._ready.set()

    def close(self) -> None:
        """No more entries; what is held is still delivered."""
        self._closed = True
        self._ready.set()

    def taken(self) -> list[T]:
        """What is held, taken out."""
        taken = list(self._entries)
        self._entries.clear()
        return taken

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            while self._entries:
                yield self._entries.popleft()
            if self._closed:
                return
            self._ready.clear()
            await self._ready.wait()
