"""The outbox: work written as rows, leased with a fencing token, and given up after three attempts.

A message in Redis is only a doorbell: losing it costs seconds, because the sweeper rings again.
Knows no kind of work; apps register theirs in apps.ops.job_kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from apps.ops import doorbell
from apps.ops.models import Job

MAX_ATTEMPTS = 3
# Short, so that work killed halfway starts again within LEASE_S + one sweep; a living holder renews it.
LEASE_S = 8.0
RENEW_S = 2.0
SWEEP_S = 5.0
SWEEP_JOBS = 100
REASON_TIMEOUT = "timeout"
REASON_WORKER_LOST = "worker lost"


class LeaseLost(Exception):  # noqa: N818 - an event of normal operation, not a fault
    """Somebody else holds the job now; what this holder did must not be written."""


class JobTimedOut(Exception):  # noqa: N818 - named as the recruiter reads it
    """The work took longer than its budget; another attempt would too."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one job until it expires. `attempt` counts from 1."""

    job_id: int
    kind: str
    subject_id: int
    organisation_id: int
    fence: int
    attempt: int


def job_enqueue(*, organisation_id: int, kind: str, subject_id: int, priority: int = 2) -> Job:
    """Write the job in the caller's transaction and ring after its commit, without waiting for the broker.

    Idempotent: an existing job of the same kind and subject is returned as it is, whatever its status.
    """
    job, created = Job.objects.get_or_create(
        kind=kind,
        subject_id=subject_id,
        defaults={
            "organisation_id": organisation_id,
            "priority": priority,
            "published_at": timezone.now(),
        },
    )
    if created:
        _ring_on_commit(job)
    return job


def job_retry(*, kind: str, subject_id: int) -> bool:
    """Put a dead job back into the queue with fresh attempts. False when it is not dead."""
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(kind=kind, subject_id=subject_id).first()
        if job is None or job.status != Job.Status.DEAD:
            return False
        job.status, job.attempts, job.reason = Job.Status.QUEUED, 0, ""
        job.published_at, job.finished_at = timezone.now(), None
        job.save()
        _ring_on_commit(job)
    return True


def job_for_subject(*, kind: str, subject_id: int) -> Job | None:
    return Job.objects.filter(kind=kind, subject_id=subject_id).first()


def job_lease(*, job_id: int, lease_s: float = LEASE_S) -> Lease | None:
    """Take the job if nobody holds it. None: done, dead, gone, or in other hands."""
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(_free(), pk=job_id).first()
        if job is None or job.attempts >= MAX_ATTEMPTS:
            return None  # one out of attempts is for the sweeper, which also tells the app
        job.status = Job.Status.RUNNING
        job.attempts += 1
        job.fence += 1
        job.leased_until = timezone.now() + timedelta(seconds=lease_s)
        job.save(update_fields=["status", "attempts", "fence", "leased_until"])
    return Lease(job.pk, job.kind, job.subject_id, job.organisation_id, job.fence, job.attempts)


def job_renew(lease: Lease, *, lease_s: float = LEASE_S) -> bool:
    """Hold the job longer. False: the lease was lost."""
    until = timezone.now() + timedelta(seconds=lease_s)
    return bool(_held(lease).update(leased_until=until))


def job_guard(lease: Lease) -> None:
    """Inside a transaction: keep others off the job until the commit. Raises LeaseLost."""
    if not _held(lease).select_for_update().exists():
        raise LeaseLost(lease.kind)


def job_finish(lease: Lease) -> bool:
    """The work is done and its results are written. False: the lease was lost."""
    return bool(_held(lease).update(status=Job.Status.DONE, finished_at=timezone.now(), reason=""))


def job_fail(lease: Lease, *, reason: str, final: bool = False) -> bool:
    """The attempt failed. True when the job is now dead: `final`, or the last attempt."""
    dead = final or lease.attempt >= MAX_ATTEMPTS
    changes = _dead(reason) if dead else {"status": Job.Status.QUEUED, "reason": reason[:200]}
    return bool(_held(lease).update(**changes, leased_until=None)) and dead


def jobs_expired_bury() -> list[Job]:
    """Jobs whose holder vanished on the last attempt are dead now; they are returned."""
    expired = Q(status=Job.Status.RUNNING, leased_until__lt=timezone.now(), attempts__gte=MAX_ATTEMPTS)
    return [job for job in Job.objects.filter(expired) if _bury(job)]


def jobs_to_ring(*, all_queued: bool) -> list[Job]:
    """Open jobs whose doorbell should ring again, most urgent first, marked as rung now.

    While the broker still holds messages (not `all_queued`), ringing again would only pile up copies: then
    it rings just once for a job whose holder vanished.
    """
    now = timezone.now()
    expired = Q(status=Job.Status.RUNNING, leased_until__lt=now, attempts__lt=MAX_ATTEMPTS)
    never_rung = Q(published_at__isnull=True) | Q(published_at__lt=F("leased_until"))
    open_jobs = expired | Q(status=Job.Status.QUEUED) if all_queued else expired & never_rung
    due = Q(published_at__isnull=True) | Q(published_at__lt=now - timedelta(seconds=SWEEP_S))
    jobs = list(Job.objects.filter(open_jobs & due).order_by("priority", "pk")[:SWEEP_JOBS])
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(published_at=timezone.now())
    return jobs


def _bury(job: Job) -> bool:
    changes = _dead(job.reason or REASON_WORKER_LOST)
    return bool(Job.objects.filter(pk=job.pk, fence=job.fence, status=job.status).update(**changes))


def _dead(reason: str) -> dict[str, object]:
    return {"status": Job.Status.DEAD, "reason": reason[:200], "finished_at": timezone.now()}


def _free() -> Q:
    expired = Q(status=Job.Status.RUNNING, leased_until__lt=timezone.now())
    return Q(status=Job.Status.QUEUED) | expired


def _held(lease: Lease) -> QuerySet[Job]:
    return Job.objects.filter(pk=lease.job_id, fence=lease.fence, status=Job.Status.RUNNING)


def _ring_on_commit(job: Job) -> None:
    ring: Callable[[], None] = partial(doorbell.ring_soon, job.pk, job.priority)
    transaction.on_commit(ring, robust=True)
