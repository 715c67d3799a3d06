"""The one Celery task, which runs a job of any kind, and the sweeper that lives in every worker process."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from types import TracebackType
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, connection
from prometheus_client import Counter

from apps.ops import doorbell
from apps.ops.job_kinds import JobKind, job_kind
from apps.ops.jobs import (
    REASON_TIMEOUT,
    RENEW_S,
    SWEEP_S,
    JobTimedOut,
    Lease,
    LeaseLost,
    job_fail,
    job_finish,
    job_lease,
    job_renew,
    jobs_expired_bury,
    jobs_to_ring,
)

logger = logging.getLogger(__name__)

JOBS_ENDED = Counter("viva_jobs_ended", "Attempts at background jobs by how they ended.", ["kind", "outcome"])


@shared_task(name=doorbell.RUN_JOB, acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(job_id: int) -> None:
    """Run one job if nobody else does. Any number of messages for a job lead to one result."""
    lease = job_lease(job_id=job_id)
    if lease is None:
        return
    kind = job_kind(lease.kind)
    if kind is None:
        job_fail(lease, reason=f"no worker here knows {lease.kind}", final=True)
        _ended(lease, "unknown")
        return
    with LeaseKeeper(lease, kind):
        _ended(lease, _attempt(lease, kind))


def _attempt(lease: Lease, kind: JobKind) -> str:
    try:
        kind.run(lease)
    except LeaseLost:
        return "lease_lost"
    except JobTimedOut:
        _give_up(lease, kind, REASON_TIMEOUT, final=True)
        return REASON_TIMEOUT
    except Exception as exc:  # noqa: BLE001 - the top of the task: whatever it was, the job must not hang
        logger.warning("job %s failed: %s at %s", lease.kind, type(exc).__name__, _where(exc.__traceback__))
        _give_up(lease, kind, type(exc).__name__, final=False)
        return "failed"
    return "done" if job_finish(lease) else "lease_lost"


def _give_up(lease: Lease, kind: JobKind, reason: str, *, final: bool) -> None:
    if job_fail(lease, reason=reason, final=final):
        kind.failed(lease.subject_id, reason)


def _where(traceback: TracebackType | None) -> str:
    """File and line of the innermost frame: enough to find the fault, and never an answer's text."""
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    return f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}" if traceback else "?"


def _ended(lease: Lease, outcome: str) -> None:
    JOBS_ENDED.labels(lease.kind, outcome).inc()
    logger.info("job %s attempt %d ended: %s", lease.kind, lease.attempt, outcome)


class LeaseKeeper:
    """Renews the lease while the work runs; kills this process when the work is far over its budget.

    Killing is the last resort, for native code that no exception reaches; the pool starts a new process.
    """

    GRACE_S = 5.0

    def __init__(self, lease: Lease, kind: JobKind) -> None:
        self._lease = lease
        self._kind = kind
        self._deadline = time.monotonic() + kind.budget_s(lease.subject_id) + self.GRACE_S
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        try:
            while not self._over.wait(RENEW_S):
                if time.monotonic() > self._deadline:
                    self._kill()
                self._renew()
        finally:
            connection.close()  # this thread's own

    def _renew(self) -> None:
        try:
            job_renew(self._lease)
        except DatabaseError as exc:
            logger.warning("lease of job %s not renewed: %s", self._lease.kind, type(exc).__name__)

    def _kill(self) -> None:
        logger.error("job %s is far over its budget: its process is killed", self._lease.kind)
        _give_up(self._lease, self._kind, REASON_TIMEOUT, final=True)
        os.kill(os.getpid(), signal.SIGKILL)


def sweep() -> int:
    """One round: bury what died for good, ring again for what waits unheard. Returns the rings."""
    for job in jobs_expired_bury():
        logger.warning("job %s is dead: %s", job.kind, job.reason)
        JOBS_ENDED.labels(job.kind, "dead").inc()
        kind = job_kind(job.kind)
        if kind is not None:
            kind.failed(job.subject_id, job.reason)
    waiting = doorbell.messages_waiting()
    if waiting is None:
        return 0  # no broker: the rows keep, the next round tries again
    jobs = jobs_to_ring(all_queued=waiting == 0)
    return len(jobs) if jobs and doorbell.ring((job.pk, job.priority) for job in jobs) else 0


class Sweeper(threading.Thread):
    """Sweeps every SWEEP_S for as long as its worker lives. Several workers may sweep the same rows."""

    def __init__(self) -> None:
        super().__init__(name="sweeper", daemon=True)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(SWEEP_S):
            try:
                if rung := sweep():
                    logger.info("sweeper rang for %d jobs", rung)
            except Exception as exc:  # noqa: BLE001 - the top of the thread: sweeping must go on
                logger.warning("sweep failed: %s at %s", type(exc).__name__, _where(exc.__traceback__))
            finally:
                # Pool processes are forked at any time: none may inherit an open connection.
                connection.close()

    def stop(self) -> None:
        self._over.set()


_sweepers: list[Sweeper] = []


@worker_ready.connect  # type: ignore[untyped-decorator]
def _start_sweeper(**_: Any) -> None:
    sweeper = Sweeper()
    _sweepers.append(sweeper)
    sweeper.start()


@worker_shutting_down.connect  # type: ignore[untyped-decorator]
def _stop_sweeper(**_: Any) -> None:
    for sweeper in _sweepers:
        sweeper.stop()
    _sweepers.clear()
