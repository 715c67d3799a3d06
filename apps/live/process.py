"""What all live sockets of this process share: who is here, the spools' thread, and the loops over both."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine

from django.conf import settings

from apps.live import group, presence
from apps.live.close_codes import CloseCode
from apps.live.engines import process_engines
from apps.live.expiry import interview_expired
from apps.live.finaliser import Finaliser
from apps.live.registry import Registry
from apps.live.spool_sync import SpoolSync

logger = logging.getLogger(__name__)

TICK_S = 1.0
LEAVE_WITHIN_S = 6.0

live_sockets = Registry()
spool_sync = SpoolSync()
taken_over = group.TakenOver()
_loops: list[asyncio.Task[None]] = []


def begin() -> None:
    """Start the loops, once; needs a running event loop."""
    if any(not loop.done() for loop in _loops):
        return
    _loops[:] = [
        _started(tick(live_sockets), "ticks of live sockets"),
        _started(presence.watch(live_sockets), "presence"),
        _started(_finaliser().watch(), "finaliser"),
        _started(group.listen(live_sockets.heard), "group"),
        _started(taken_over.tell(), "interviews taken over"),
    ]


async def stop() -> None:
    """Every page is sent away to come back, and what it sent is on disk. The caller bounds it."""
    try:
        async with asyncio.timeout(LEAVE_WITHIN_S):
            await live_sockets.drain()
    except TimeoutError:
        logger.warning("%d live sockets did not leave within %.0f s", len(live_sockets), LEAVE_WITHIN_S)
    for loop in _loops:
        loop.cancel()
    await asyncio.gather(*_loops, return_exceptions=True)
    await asyncio.to_thread(spool_sync.stop)
    await process_engines.aclose()


async def tick(sockets: Registry) -> None:
    """One timer for all: hundreds of their own cost more than the audio."""
    ticked_at = time.monotonic()
    while True:
        await asyncio.sleep(TICK_S)
        now = time.monotonic()
        passed_s, ticked_at = min(now - ticked_at, 2 * TICK_S), now
        for socket in sockets.sockets():
            try:
                socket.tick(passed_s)
            except Exception:
                logger.exception("a live socket cannot go on")
                socket.end(CloseCode.ERROR, "its tick failed")


def _finaliser() -> Finaliser:
    return Finaliser(live_sockets, interview_expired, settings.RESUME_GRACE_S)


def _started(work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
    return asyncio.create_task(work, name=name)
