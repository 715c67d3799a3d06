"""How a page gets in: who it is, its patience, its ticket, its handshake. Knows not what it says then."""

from __future__ import annotations

from dataclasses import dataclass

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from tests.faults.exchange import Reply, ask

SUBPROTOCOL = Subprotocol("interview.v1")
FINAL = {403, 404, 409}  # no consent, no such interview, over: asking again changes nothing
LATER = {429, 503}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who opens the page: the address used, the interview, the login session's cookie."""

    site: str
    interview: str
    cookie: str


@dataclass(frozen=True, slots=True)
class Habits:
    """The page's own patience, in seconds."""

    silent_s: float = 15.0  # nothing heard: reconnect
    unacked_s: float = 5.0  # frames out and no ACK: reconnect
    welcome_s: float = 10.0
    first_wait_s: float = 0.25
    longest_wait_s: float = 8.0
    tick_s: float = 0.25


@dataclass(slots=True)
class Attempt:
    """One try to get in. `outcome`: welcome, closed, refused, no answer."""

    began: float
    took_s: float = 0.0
    outcome: str = "trying"


class Stop(Exception):  # noqa: N818 - the page's decision, not an error
    """The page will not come back by itself. `why` is shown."""


async def ticket_reply(visitor: Visitor, *, late: bool, within_s: float) -> Reply:
    path = f"/interviews/{visitor.interview}/ticket/" + ("?late=1" if late else "")
    return await ask("POST", visitor.site + path, cookie=visitor.cookie, within_s=within_s)


async def dial(visitor: Visitor) -> ClientConnection:
    """Through the handshake; the caller bounds it."""
    return await connect(
        f"ws{visitor.site.removeprefix('http')}/ws/interviews/{visitor.interview}/",
        origin=Origin(visitor.site),
        subprotocols=[SUBPROTOCOL],
        additional_headers={"Cookie": visitor.cookie},
        compression=None,
        ping_interval=None,
        max_size=1 << 20,
        open_timeout=None,
    )
