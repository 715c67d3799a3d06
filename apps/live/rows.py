"""Database work from a socket's event loop: short, in few threads of its own, never in the way of audio."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from apps.ops.metrics import observe

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
DATABASE_AWAY = (OperationalError, InterfaceError)
THREADS = 6
LOCK_WAIT_MS = (
    2_000  # then the statement fails and comes again: a thread is never long in one session's hands
)
KEPT_S = 60.0  # to open SQLite's file and read its schema costs as much as the statements of a welcome

_ours = threading.local()


def bound_this_thread() -> None:
    """Connections that the current thread opens from here on wait for no lock longer than LOCK_WAIT_MS."""
    _ours.bounded = True


def keep_in_this_thread() -> None:
    """The same, and they stay open for KEPT_S, as long as all is well with them."""
    bound_this_thread()
    _ours.keeps = True


_threads = ThreadPoolExecutor(THREADS, "live rows", initializer=keep_in_this_thread)


async def in_database(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread with a connection of its own; more of them wait for their turn."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads, partial(_connected, work, *args, **kwargs))


async def insist(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same, again until the database answers. `work` must be one transaction. Ends when cancelled."""
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await in_database(work, *args, **kwargs)
        except DATABASE_AWAY as exc:
            logger.warning("database not ready, again in %.2f s: %s", wait_s, type(exc).__name__)
            observe("fallback:database_away", 1)
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def _connected(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    close_old_connections()
    _close_if_replaced()
    try:
        return work(*args, **kwargs)
    except DATABASE_AWAY:
        connection.close()  # whatever it was, the next one begins anew
        raise
    finally:
        close_old_connections()


def _close_if_replaced() -> None:
    """An open file is not what its name stands for, once another was put there."""
    kept = getattr(_ours, "file", None)
    if kept is not None and kept != _file_of(connection):
        connection.close()


def _file_of(opened: Any) -> tuple[int, int] | None:
    try:
        found = os.stat(opened.settings_dict["NAME"])  # noqa: PTH116 - before each statement
    except OSError:
        return None
    return found.st_dev, found.st_ino


@receiver(connection_created, dispatch_uid="connections of live sockets")
def _opened(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if not getattr(_ours, "bounded", False):
        return
    if connection.vendor != "sqlite":
        connection.connection.execute(f"SET lock_timeout = {LOCK_WAIT_MS}")
        return
    connection.connection.execute(f"PRAGMA busy_timeout = {LOCK_WAIT_MS}")
    if getattr(_ours, "keeps", False):
        connection.close_at = time.monotonic() + KEPT_S
        _ours.file = _file_of(connection)
