"""Database work from a socket's event loop: short, in a thread, never in the way of audio."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from channels.db import database_sync_to_async
from django.db import InterfaceError, OperationalError

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
DATABASE_AWAY = (OperationalError, InterfaceError)


async def in_database(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread with a connection of its own.

    Not on Channels' one shared thread: a slow query of one session would then hold all others up.
    """
    return await database_sync_to_async(work, thread_sensitive=False)(*args, **kwargs)


async def insist(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same, again until the database answers. `work` must be one transaction. Ends when cancelled."""
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await in_database(work, *args, **kwargs)
        except DATABASE_AWAY as exc:
            logger.warning("database not ready, again in %.2f s: %s", wait_s, type(exc).__name__)
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
