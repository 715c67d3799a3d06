"""How a closed answer is kept, from a socket's loop: recording and rows, and nothing of an erased interview.

Knows no questions and no sessions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from apps.interviews.services.seats import Superseded
from apps.live.recorder import Kept, Place, audio_forget, audio_keep
from apps.live.rows import DATABASE_AWAY, in_database, insist
from apps.live.spool import Spool

T = TypeVar("T")
logger = logging.getLogger(__name__)

AUDIO_RETRY_S = 1.0


async def recording_kept(place: Place, spool: Spool, unkept: Callable[[], None]) -> Kept:
    """The WAV, again until the disk takes it; meanwhile the page knows (`unkept`) and the spool holds it."""
    while True:
        writing = asyncio.create_task(asyncio.to_thread(audio_keep, place, spool))
        try:
            return await asyncio.shield(writing)
        except OSError as exc:
            logger.warning("recording of answer %d not written: %s", spool.answer, exc.strerror)
            unkept()
        except asyncio.CancelledError:
            await _withdraw(place, writing)
            raise
        await asyncio.sleep(AUDIO_RETRY_S)


async def recorded(place: Place, kept: Kept, record: Callable[[], T]) -> T:
    """The rows to a recording, again until the database takes them. Raises Superseded."""
    try:
        return await insist(record)
    except (Superseded, asyncio.CancelledError):
        await _forget(place, kept)
        raise


async def _withdraw(place: Place, writing: asyncio.Task[Kept]) -> None:
    """The socket ended while a thread writes, perhaps because the interview is being erased."""
    with suppress(OSError):
        await _forget(place, await writing)


async def _forget(place: Place, kept: Kept) -> None:
    with suppress(*DATABASE_AWAY):  # then it cannot have been erased either
        await in_database(audio_forget, place, kept)
