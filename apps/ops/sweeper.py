"""Finds jobs whose holder vanished or whose doorbell nobody heard. Lives as a thread in every worker.

Any number of sweepers may look at the same rows. It goes on while the broker or the database is away.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from celery.signals import worker_ready, worker_shutting_down
from django.db import connection
from prometheus_client import Counter

from apps.ops import doorbell
from apps.ops.fork_gate import ForkGate
from apps.ops.job_ends import job_died, where
from apps.ops.jobs import job_claim_ring, job_free, jobs_held, jobs_waiting, jobs_waiting_count
from apps.ops.models import Job
from apps.ops.stillness import Stillness

logger = logging.getLogger(__name__)

# A living holder raises its beat every 2 s. Short, so that work killed halfway soon starts again.
LEASE_S = 8.0
# How long a job may wait unheard before it is rung for again.
SWEEP_S = 5.0
LOOK_S = 2.0
GAP_S = 2 * LOOK_S
RING_AT_MOST = 100

SWEEPS_FAILED = Counter("viva_job_sweeps_failed", "Looks at the jobs that ended in a fault.")


class Sweeper:
    """What one process saw of the jobs so far. Call `sweep` every LOOK_S."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._holders: Stillness[int] = Stillness(LEASE_S, GAP_S, clock)
        self._unheard: Stillness[int] = Stillness(SWEEP_S, GAP_S, clock)

    def sweep(self) -> int:
        """Free what nobody works on any more, ring for what waits unheard. Returns the rings."""
        rung = _ring(self._free())
        waiting = jobs_waiting(at_most=RING_AT_MOST)
        unheard = self._unheard.look(waiting)
        return rung + (_ring(_claimed(unheard, waiting)) if unheard else 0)

    def _free(self) -> list[Job]:
        held = jobs_held()
        freed = [job_free(job_id=job_id, seen=held[job_id]) for job_id in self._holders.look(held)]
        for job in freed:
            if job is not None and job.status == Job.Status.DEAD:
                job_died(job)
        return [job for job in freed if job is not None and job.status == Job.Status.QUEUED]


def _claimed(unheard: list[int], waiting: dict[int, int]) -> list[Job]:
    """Jobs to ring for: so many that the broker never holds more messages than jobs wait."""
    messages = doorbell.messages_waiting()
    if messages is None:
        return []  # no broker: the rows keep, a later look tries again
    room = max(0, jobs_waiting_count() - messages)
    claims = (job_claim_ring(job_id=job_id, rings=waiting[job_id]) for job_id in unheard[:room])
    return [job for job in claims if job is not None]


def _ring(jobs: list[Job]) -> int:
    return len(jobs) if jobs and doorbell.ring((job.pk, job.priority) for job in jobs) else 0


_not_while_forking = ForkGate()


class SweeperThread(threading.Thread):
    """Sweeps for as long as its worker lives, whatever fails meanwhile."""

    def __init__(self) -> None:
        super().__init__(name="sweeper", daemon=True)
        self._over = threading.Event()

    def run(self) -> None:
        sweeper = Sweeper()
        while not self._over.wait(LOOK_S):
            self._sweep(sweeper)

    def stop(self) -> None:
        self._over.set()

    def _sweep(self, sweeper: Sweeper) -> None:
        with _not_while_forking:
            try:
                if rung := sweeper.sweep():
                    logger.info("sweeper rang for %d jobs", rung)
            except Exception as exc:  # noqa: BLE001 - the top of the thread: sweeping must go on
                SWEEPS_FAILED.inc()
                logger.warning("sweep failed: %s at %s", type(exc).__name__, where(exc.__traceback__))
            finally:
                connection.close()  # no child may inherit it either


_threads: list[SweeperThread] = []


def sweep_in_every_worker() -> None:
    """Have each Celery worker that this process becomes start a thread, and stop it when it shuts down."""
    worker_ready.connect(_start)
    worker_shutting_down.connect(_stop)


def _start(**_: Any) -> None:
    thread = SweeperThread()
    _threads.append(thread)
    thread.start()


def _stop(**_: Any) -> None:
    for thread in _threads:
        thread.stop()
    _threads.clear()
