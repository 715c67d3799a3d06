"""The live sockets of this process: how many there may be, one per interview, and how they all leave."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from apps.interviews.services.seats import Seat
from apps.live.close_codes import CloseCode, Refused

LET_GO_WITHIN_S = 5.0
AT_THE_DOOR = 64  # sockets beyond the limit that may wait for their hello


class LiveSocket(Protocol):
    gone: asyncio.Event
    seat: Seat | None

    def end(self, code: CloseCode, why: str) -> None:
        """Close soon; `gone` is set when nothing of it writes any more."""

    def erased(self) -> None:
        """Tell the page that its interview is no more, and close."""

    def told(self, message: Mapping[str, Any]) -> None:
        """Something about its interview, from any process."""

    def tick(self, passed_s: float) -> None:
        """Called about every second. Must not wait."""


class Registry:
    def __init__(self) -> None:
        self._open: set[LiveSocket] = set()
        self._holders: dict[str, LiveSocket] = {}  # by the interview's public hex
        self._late: set[str] = set()  # interviews that are over: their sockets only bring audio
        self._draining = False

    def __len__(self) -> int:
        """How many hold an interview that goes on."""
        return len(self._holders) - len(self._late)

    def sockets(self) -> list[LiveSocket]:
        """Every open one, admitted or not."""
        return list(self._open)

    def arrive(self, socket: LiveSocket, limit: int) -> None:
        """A socket was opened. Raises Refused (1012, 4429): it is then to be closed."""
        self._open.add(socket)
        if self._draining:
            raise Refused(CloseCode.RESTART, "the server restarts")
        if len(self._open) > 2 * limit + AT_THE_DOOR:
            raise Refused(CloseCode.FULL, f"{len(self._open)} sockets are open")

    def heard(self, interview: str, message: Mapping[str, Any]) -> None:
        """To the socket that holds the interview, if it is one of these."""
        if (socket := self._holders.get(interview)) is not None:
            socket.told(message)

    async def enter(self, interview: str, socket: LiveSocket, limit: int, *, late: bool = False) -> None:
        """Take the interview's place, ending the socket that holds it. Raises Refused (1012, 4429).

        The place is reserved before the first wait. Interviews that are over have places of their own.
        """
        if self._draining:
            raise Refused(CloseCode.RESTART, "the server restarts")
        older = self._holders.get(interview)
        if older is None and self._taken(late=late) >= limit:
            raise Refused(CloseCode.FULL, f"{limit} live sessions are open")
        self._holders[interview] = socket
        if late:
            self._late.add(interview)
        if older is not None:
            older.end(CloseCode.SUPERSEDED, "a newer page took over")
            await _let_go(older)

    def leave(self, interview: str, socket: LiveSocket) -> None:
        if self._holders.get(interview) is socket:
            del self._holders[interview]
            self._late.discard(interview)

    def depart(self, socket: LiveSocket) -> None:
        """The socket is closed."""
        self._open.discard(socket)

    async def drain(self) -> None:
        """The server stops: every page is told to come back, and nobody new comes in."""
        self._draining = True
        leaving = self.sockets()
        for socket in leaving:
            socket.end(CloseCode.RESTART, "the server restarts")
        await asyncio.gather(*(socket.gone.wait() for socket in leaving))

    def _taken(self, *, late: bool) -> int:
        return len(self._late) if late else len(self)


async def _let_go(older: LiveSocket) -> None:
    try:
        async with asyncio.timeout(LET_GO_WITHIN_S):
            await older.gone.wait()
    except TimeoutError:
        raise Refused(CloseCode.ERROR, "the socket before this one is still busy") from None
