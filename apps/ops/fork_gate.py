"""Keeps a process from forking while one of its threads is at work with the database.

The child would inherit SQLite's and libpq's locks as they are held, with nobody to release them: it hangs
at its first query. Celery forks a pool process whenever one died.
"""

from __future__ import annotations

import logging
import os
import threading

logger = logging.getLogger(__name__)

FORK_WITHIN_S = 30.0


class ForkGate:
    """`with` it, a thread does what must not be cut in two by a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        os.register_at_fork(before=self._close, after_in_parent=self._open, after_in_child=self._open)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def _close(self) -> None:
        self._closed = self._lock.acquire(timeout=FORK_WITHIN_S)
        if not self._closed:
            logger.warning("a process is forked although a thread has been at work for %.0f s", FORK_WITHIN_S)

    def _open(self) -> None:
        if self._closed:
            self._closed = False
            self._lock.release()
