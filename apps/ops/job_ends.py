"""How an attempt at a job ended: counted, logged, and told to the app where nothing more will come."""

from __future__ import annotations

import logging
from types import TracebackType

from prometheus_client import Counter

from apps.ops.job_kinds import JobKind, job_kind
from apps.ops.jobs import REASON_TIMEOUT, Lease, job_fail, job_time_out
from apps.ops.models import Job

logger = logging.getLogger(__name__)

JOBS_ENDED = Counter("viva_jobs_ended", "Attempts at background jobs by how they ended.", ["kind", "outcome"])


def attempt_ended(lease: Lease, outcome: str) -> None:
    JOBS_ENDED.labels(lease.kind, outcome).inc()
    logger.info("job %s attempt %d ended: %s", lease.kind, lease.attempt, outcome)


def attempt_failed(lease: Lease, kind: JobKind, reason: str) -> None:
    if job_fail(lease, reason=reason):
        kind.failed(lease.subject_id, reason)


def attempt_timed_out(lease: Lease, kind: JobKind) -> None:
    if job_time_out(lease):
        kind.failed(lease.subject_id, REASON_TIMEOUT)


def job_died(job: Job) -> None:
    """Its last holder vanished."""
    logger.warning("job %s is dead: %s", job.kind, job.reason)
    JOBS_ENDED.labels(job.kind, "dead").inc()
    kind = job_kind(job.kind)
    if kind is not None:
        kind.failed(job.subject_id, job.reason)


def where(traceback: TracebackType | None) -> str:
    """File and line of the innermost frame: enough to find the fault, and never an answer's text."""
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    return f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}" if traceback else "?"
