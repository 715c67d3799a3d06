"""Keeps all spools: writes and syncs what waits, then tells each socket how far.

Group commit: a round every 150 ms, its spools side by side, because one after the other 200 of them took more
than a second. A spool that hangs or fails holds up no other. Knows no sockets, only callbacks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from apps.live.spool import Spool
from apps.ops.metrics import observe

logger = logging.getLogger(__name__)

ROUND_S = 0.15
RETRY_S = 0.5  # after a full disk
ROUND_WITHIN_S = 1.0  # then the next round begins without the spools that still hang
THREADS = 8

Kept = Callable[[int], None]  # frames kept so far
Unkept = Callable[[OSError], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """How to tell one socket. Both are called in a sync thread: they must hand over to their loop."""

    kept: Kept
    unkept: Unkept


class SpoolSync:
    """Started with the first spool and kept for the life of the process (a daemon thread)."""

    def __init__(self, round_s: float = ROUND_S, round_within_s: float = ROUND_WITHIN_S) -> None:
        self._round_s, self._round_within_s = round_s, round_within_s
        self._watches: dict[Spool, Watch] = {}
        self._syncing: set[Spool] = set()  # also ones that hang since an earlier round
        self._again_at: dict[Spool, float] = {}  # a disk refused them
        self._lock = threading.Lock()
        self._dirty = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="spool sync")

    def add(self, spool: Spool, watch: Watch) -> None:
        with self._lock:
            self._watches[spool] = watch
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="spool rounds", daemon=True)
                self._thread.start()

    def discard(self, spool: Spool) -> None:
        with self._lock:
            self._watches.pop(spool, None)
            self._again_at.pop(spool, None)

    def wake(self) -> None:
        """Something was appended. Cheap: called for every frame."""
        self._dirty.set()

    def stop(self) -> None:
        self._stopped.set()
        self._dirty.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._dirty.wait(RETRY_S if self._again_at else None)
            # Gather first, then sync: frames that arrive within a round share its sync.
            self._stopped.wait(self._round_s)
            self._dirty.clear()
            self._round()

    def _round(self) -> None:
        """Sync every spool that has frames waiting, within bounds."""
        began = time.monotonic()
        due = self._due(began)
        left = deque(due)
        syncs = [self._pool.submit(self._sync_all, left) for _ in range(min(THREADS, len(due)))]
        _, late = wait(syncs, self._round_within_s)
        hanging = self._hanging(due) if late else 0
        if hanging:
            logger.warning("%d of %d spools are not synced in time", hanging, len(due))
            observe("spool_hangs", hanging)

    def _hanging(self, due: Sequence[tuple[Spool, Watch]]) -> int:
        with self._lock:
            return sum(spool in self._syncing for spool, _ in due)

    def _sync_all(self, left: deque[tuple[Spool, Watch]]) -> None:
        """One thread's share of a round: a spool that hangs keeps only this thread."""
        with suppress(IndexError):
            while True:
                self._sync(*left.popleft())

    def _due(self, now: float) -> list[tuple[Spool, Watch]]:
        with self._lock:
            due = [
                (spool, watch)
                for spool, watch in self._watches.items()
                if spool.waiting and spool not in self._syncing and self._again_at.get(spool, now) <= now
            ]
            self._syncing.update(spool for spool, _ in due)
        return due

    def _sync(self, spool: Spool, watch: Watch) -> None:
        before = spool.kept
        failure = _flushed(spool)
        with self._lock:
            self._syncing.discard(spool)
            self._again_at.pop(spool, None)
            if failure is not None and spool in self._watches:
                self._again_at[spool] = time.monotonic() + RETRY_S
        if failure is not None:
            watch.unkept(failure)
        elif spool.kept > before:
            watch.kept(spool.kept)
        if spool.waiting:
            self._dirty.set()


def _flushed(spool: Spool) -> OSError | None:
    try:
        spool.flush()
    except OSError as exc:
        return exc
    return None
