"""Tells which of many counters stood still for long enough, by the watching process's own clock.

Nothing here hangs on the wall clock, which may jump: who lives raises a counter, who watches times its rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Rest:
    beat: Hashable
    for_s: float


class Stillness(Generic[K]):
    """Watches the beats it is shown; one that is no longer shown is forgotten.

    The time between two looks counts for `gap_s` at most: a watcher that was itself stopped, or could not
    read the beats, knows nothing about the others' rest.
    """

    def __init__(self, still_s: float, gap_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._still_s = still_s
        self._gap_s = gap_s
        self._clock = clock
        self._looked_at = clock()
        self._rests: dict[K, _Rest] = {}

    def look(self, beats: Mapping[K, Hashable]) -> list[K]:
        """Take in all beats as they are; returns the keys that stood still, until they move or vanish."""
        now = self._clock()
        passed_s = min(now - self._looked_at, self._gap_s)
        self._looked_at = now
        self._rests = {key: self._rest(key, beat, passed_s) for key, beat in beats.items()}
        return [key for key, rest in self._rests.items() if rest.for_s >= self._still_s]

    def _rest(self, key: K, beat: Hashable, passed_s: float) -> _Rest:
        before = self._rests.get(key)
        moved = before is None or before.beat != beat
        return _Rest(beat, 0.0 if moved or before is None else before.for_s + passed_s)
