"""The time limit of a job, which begins anew with each of its steps. Knows neither rows nor processes."""

from __future__ import annotations

import time
from collections.abc import Callable

from apps.ops.jobs import JobTimedOut, LeaseLost

P2_STEP_S = 30.0
P3_STEP_S = 60.0


class Step:
    """The step under way. Calling it ends that one and begins the next, with the whole limit again.

    Call it before results are written, and between pieces of work that may each take the limit. Work that
    waits gives up after `left_s`; work that never comes back here is killed with its process.
    """

    def __init__(self, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_s = limit_s
        self._clock = clock
        self._began_at = clock()
        self._lost = False

    def __call__(self) -> None:
        """Raises LeaseLost or JobTimedOut: what the step led to must not be written."""
        if self._lost:
            raise LeaseLost
        if self.left_s < 0:
            raise JobTimedOut
        self._began_at = self._clock()

    @property
    def left_s(self) -> float:
        """Below zero when the step is over its limit."""
        return self._began_at + self._limit_s - self._clock()

    def lose(self) -> None:
        """The lease is gone; the work hears of it at its next step."""
        self._lost = True
