"""Finds interviews that nobody came back to, and has them closed. Knows when, not how.

Every web process watches all of them: the one that held an interview may be the one that died.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from apps.interviews.selectors import interviews_live_beats
from apps.live.registry import Registry
from apps.live.rows import in_database
from apps.ops.metrics import observe
from apps.ops.stillness import Stillness

logger = logging.getLogger(__name__)

LOOK_S = 5.0


class Finaliser:
    """`expire(interview_id, beat)` closes what was left unless its beat went on, and blocks.

    False: it was not closed, because somebody came back or another process was first.
    """

    def __init__(
        self,
        sockets: Registry,
        expire: Callable[[int, int], bool],
        grace_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sockets = sockets
        self._expire = expire
        self._left: Stillness[int] = Stillness(grace_s, 2 * LOOK_S, clock)

    async def watch(self) -> None:
        """Until cancelled. What fails is tried again at the next look."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Exception as exc:  # noqa: BLE001 - the top of the task: watching must go on
                self._count("look for left interviews failed", exc)

    async def look(self) -> None:
        """Expire every interview whose beat stood still for the grace time and whose socket is not here."""
        beats = await in_database(interviews_live_beats)
        still = self._left.look(beats)
        here = {socket.seat.interview_id for socket in self._sockets.sockets() if socket.seat is not None}
        for interview_id in still:
            if interview_id not in here:
                await self._expire_one(interview_id, beats[interview_id])

    async def _expire_one(self, interview_id: int, beat: int) -> None:
        try:
            # Without a deadline: a thread cannot be given up, and a second try would only take another.
            expired = await in_database(self._expire, interview_id, beat)
        except Exception as exc:  # noqa: BLE001 - one that cannot be closed must not keep the others open
            self._count(f"interview {interview_id} not expired", exc)
            return
        if expired:
            logger.info("interview %d was left: it is expired", interview_id)

    def _count(self, what: str, exc: Exception) -> None:
        logger.warning("%s: %s", what, type(exc).__name__)
        observe("fallback:expiry_failed", 1)
