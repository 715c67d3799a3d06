"""One thread that keeps all spools: writes and syncs what waits, then tells each socket how far.

Group commit: audio of all live answers is synced in one round every 150 ms. Knows no sockets, only callbacks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from apps.live.spool import Spool

logger = logging.getLogger(__name__)

ROUND_S = 0.15
RETRY_S = 0.5  # after a full disk

Kept = Callable[[int], None]  # frames kept so far
Unkept = Callable[[OSError], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """How to tell one socket. Both are called in the sync thread: they must hand over to their loop."""

    kept: Kept
    unkept: Unkept


class SpoolSync:
    """Started with the first spool and kept for the life of the process (a daemon thread)."""

    def __init__(self, round_s: float = ROUND_S) -> None:
        self._round_s = round_s
        self._watches: dict[Spool, Watch] = {}
        self._lock = threading.Lock()
        self._dirty = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, spool: Spool, watch: Watch) -> None:
        with self._lock:
            self._watches[spool] = watch
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spool sync", daemon=True)
                self._thread.start()

    def discard(self, spool: Spool) -> None:
        with self._lock:
            self._watches.pop(spool, None)

    def wake(self) -> None:
        """Something was appended. Cheap: called for every frame."""
        self._dirty.set()

    def stop(self) -> None:
        self._stopped.set()
        self._dirty.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._dirty.wait()
            # Gather first, then sync: frames that arrive within a round share its sync.
            self._stopped.wait(self._round_s)
            self._dirty.clear()
            if not self._round():
                self._stopped.wait(RETRY_S)
                self._dirty.set()

    def _round(self) -> bool:
        """Sync every spool that has frames waiting. False when a disk refused."""
        with self._lock:
            due = [(spool, watch) for spool, watch in self._watches.items() if spool.waiting]
        began = time.monotonic()
        told = [(watch, spool.kept, _flushed(spool)) for spool, watch in due]
        for watch, _, failure in told:
            if failure is not None:
                watch.unkept(failure)
        for (spool, watch), (_, before, _) in zip(due, told, strict=True):
            if spool.kept > before:
                watch.kept(spool.kept)
        took_s = time.monotonic() - began
        if took_s > 1:
            logger.warning("syncing %d spools took %.1f s", len(due), took_s)
        return all(failure is None for _, _, failure in told)


def _flushed(spool: Spool) -> OSError | None:
    try:
        spool.flush()
    except OSError as exc:
        return exc
    return None
