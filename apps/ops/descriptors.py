"""How many file descriptors this process may still open, and when that is too few to let anybody new in.

A live session needs some after it began (spool, database, recording): the last ones are kept for it.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

RESERVE = 32
RESERVE_SHARE = 4  # of a small limit, at most one in so many
COUNTED_EVERY_S = 0.05
WANTED = 8192
_FOLDERS = (Path("/proc/self/fd"), Path("/dev/fd"))


class Descriptors:
    """Counts what is open, at most every 50 ms; connections accepted in between count at once."""

    def __init__(self) -> None:
        self._counted_at = float("-inf")
        self._left = 0

    @property
    def few(self) -> bool:
        """Whether somebody new must be asked to come back later."""
        return self._count() < self._reserve()

    @property
    def nearly_none(self) -> bool:
        """Whether even that answer would cost one too many."""
        return self._count() < self._reserve() // 2

    def accepted(self) -> None:
        self._left -= 1

    def _count(self) -> int:
        now = time.monotonic()
        if now - self._counted_at >= COUNTED_EVERY_S:
            self._counted_at, self._left = now, _limit() - _open()
        return self._left

    @staticmethod
    def _reserve() -> int:
        return min(RESERVE, _limit() // RESERVE_SHARE)


def raise_limit() -> None:
    """Take as many as the operator's hard limit allows, up to what a full server needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def _open() -> int:
    for folder in _FOLDERS:
        try:
            return len(os.listdir(folder))  # noqa: PTH208 - a number, not a Path for each
        except FileNotFoundError:
            continue
        except OSError:  # reading the folder takes one, and there is none
            return _limit()
    return 0
