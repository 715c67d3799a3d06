"""The one Celery task, which runs a job of any kind."""

from __future__ import annotations

import logging

from celery import shared_task

from apps.ops import doorbell
from apps.ops.job_ends import attempt_ended, attempt_failed, attempt_timed_out, where
from apps.ops.job_kinds import JobKind, job_kind
from apps.ops.jobs import REASON_TIMEOUT, JobTimedOut, Lease, LeaseLost, job_fail, job_finish, job_lease
from apps.ops.lease_keeper import LeaseKeeper
from apps.ops.steps import Step
from apps.ops.sweeper import sweep_in_every_worker

logger = logging.getLogger(__name__)


@shared_task(name=doorbell.RUN_JOB, acks_late=True, reject_on_worker_lost=True, ignore_result=True)  # type: ignore[untyped-decorator]
def run_job(job_id: int) -> None:
    """Run one job if nobody else does. Any number of messages for a job lead to one result."""
    lease = job_lease(job_id=job_id)
    if lease is None:
        return
    kind = job_kind(lease.kind)
    if kind is None:
        job_fail(lease, reason=f"no worker here knows {lease.kind}", final=True)
        attempt_ended(lease, "unknown")
        return
    with LeaseKeeper(lease, kind) as step:
        attempt_ended(lease, _attempt(lease, kind, step))


def _attempt(lease: Lease, kind: JobKind, step: Step) -> str:
    try:
        kind.run(lease, step)
    except LeaseLost:
        return "lease_lost"
    except JobTimedOut:
        attempt_timed_out(lease, kind)
        return REASON_TIMEOUT
    except Exception as exc:  # noqa: BLE001 - the top of the task: whatever it was, the job must not hang
        logger.warning("job %s failed: %s at %s", lease.kind, type(exc).__name__, where(exc.__traceback__))
        attempt_failed(lease, kind, type(exc).__name__)
        return "failed"
    return "done" if job_finish(lease) else "lease_lost"


sweep_in_every_worker()
