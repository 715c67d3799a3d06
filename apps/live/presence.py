"""One look every 5 s at the rows of all interviews that this process holds, and a sign that it holds them.

A socket whose rights are gone is ended: taken over in another process, consent withdrawn, erased.
"""

from __future__ import annotations

import asyncio
import logging

from apps.interviews.selectors import Standing
from apps.interviews.services.seats import seats_keep
from apps.live.close_codes import CloseCode
from apps.live.registry import LiveSocket, Registry
from apps.live.rows import DATABASE_AWAY, in_database
from apps.ops.metrics import FALLBACKS

logger = logging.getLogger(__name__)

EVERY_S = 5.0


async def watch(sockets: Registry, every_s: float = EVERY_S) -> None:
    """Until cancelled. Away, the database is asked again the next time; no socket depends on its answer."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await look(sockets)
        except Exception as exc:
            ours = not isinstance(exc, DATABASE_AWAY)
            logger.warning("rights of live sockets not checked: %s", type(exc).__name__, exc_info=ours)
            FALLBACKS.labels("presence_skipped").inc()


async def look(sockets: Registry) -> None:
    seats = {socket: socket.seat for socket in sockets.sockets() if socket.seat is not None}
    if not seats:
        return
    standings = await in_database(seats_keep, seats=tuple(seats.values()))
    for socket, seat in seats.items():
        _judge(socket, seat.generation, standings.get(seat.interview_id))


def _judge(socket: LiveSocket, generation: int, standing: Standing | None) -> None:
    if standing is None:
        socket.erased()
    elif not standing.consented:
        socket.end(CloseCode.NO_CONSENT, "the consent is gone")
    elif standing.generation != generation:
        socket.end(CloseCode.SUPERSEDED, "a newer page took over elsewhere")
