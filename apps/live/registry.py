"""The live sockets of this process: how many there may be, and one per interview."""

from __future__ import annotations

import asyncio
from typing import Protocol

from apps.live.close_codes import CloseCode, Refused

LET_GO_WITHIN_S = 5.0


class LiveSocket(Protocol):
    gone: asyncio.Event

    def end(self, code: CloseCode, why: str) -> None:
        """Close soon; `gone` is set when nothing of it writes any more."""


class Registry:
    def __init__(self) -> None:
        self._sockets: dict[int, LiveSocket] = {}

    def __len__(self) -> int:
        return len(self._sockets)

    async def enter(self, interview_id: int, socket: LiveSocket, limit: int) -> None:
        """Take the interview's place, ending the socket that holds it. Raises Refused (4429) when full."""
        older = self._sockets.get(interview_id)
        if older is None and len(self._sockets) >= limit:
            raise Refused(CloseCode.FULL, f"{limit} live sessions are open")
        self._sockets[interview_id] = socket
        if older is not None:
            older.end(CloseCode.SUPERSEDED, "a newer page took over")
            async with asyncio.timeout(LET_GO_WITHIN_S):
                await older.gone.wait()

    def leave(self, interview_id: int, socket: LiveSocket) -> None:
        if self._sockets.get(interview_id) is socket:
            del self._sockets[interview_id]

    async def drain(self) -> None:
        """The server stops: every page is told to come back."""
        sockets = list(self._sockets.values())
        for socket in sockets:
            socket.end(CloseCode.RESTART, "the server restarts")
        await asyncio.gather(*(socket.gone.wait() for socket in sockets))
