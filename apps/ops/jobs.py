"""The outbox: work written as rows, leased with a fencing token, and given up after three attempts.

A message in Redis is only a doorbell: losing it costs seconds, because the sweeper rings again. A holder
raises the row's beat; the wall clock decides nothing. Knows no kind of work; those are in apps.ops.job_kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from apps.ops import doorbell
from apps.ops.models import Job

MAX_ATTEMPTS = 3
REASON_TIMEOUT = "timeout"
REASON_WORKER_LOST = "worker lost"
_ENDED_BADLY = (Job.Status.DEAD, Job.Status.TIMEOUT)


class LeaseLost(Exception):  # noqa: N818 - an event of normal operation, not a fault
    """Somebody else holds the job now; what this holder did must not be written."""


class JobTimedOut(Exception):  # noqa: N818 - named as the recruiter reads it
    """A step took longer than its limit; another attempt would too."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one job for as long as its beat is raised. `attempt` counts from 1."""

    job_id: int
    kind: str
    subject_id: int
    organisation_id: int
    fence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Beat:
    """What a living holder changes. A higher fence is another holder."""

    fence: int
    beat: int


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
    """Put a job that is dead or timed out back into the queue with fresh attempts. False: it is neither."""
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(kind=kind, subject_id=subject_id).first()
        if job is None or job.status not in _ENDED_BADLY:
            return False
        job.status, job.attempts, job.reason = Job.Status.QUEUED, 0, ""
        job.published_at, job.finished_at = timezone.now(), None
        job.save()
        _ring_on_commit(job)
    return True


def job_for_subject(*, kind: str, subject_id: int) -> Job | None:
    return Job.objects.filter(kind=kind, subject_id=subject_id).first()


def job_lease(*, job_id: int) -> Lease | None:
    """Take the job if it waits. None: done, dead, gone, or in other hands until the sweeper frees it."""
    with transaction.atomic():
        job = Job.objects.select_for_update().filter(pk=job_id, status=Job.Status.QUEUED).first()
        if job is None:
            return None
        job.status = Job.Status.RUNNING
        job.attempts += 1
        job.fence += 1
        job.save(update_fields=["status", "attempts", "fence"])
    return Lease(job.pk, job.kind, job.subject_id, job.organisation_id, job.fence, job.attempts)


def job_beat(lease: Lease) -> bool:
    """The holder lives. False: the lease was lost."""
    return bool(_held(lease).update(beat=F("beat") + 1))


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
    changes = (
        _ended(Job.Status.DEAD, reason) if dead else {"status": Job.Status.QUEUED, "reason": reason[:200]}
    )
    return bool(_held(lease).update(**changes)) and dead


def job_time_out(lease: Lease) -> bool:
    """A step took too long. False: the lease was lost."""
    return bool(_held(lease).update(**_ended(Job.Status.TIMEOUT, REASON_TIMEOUT)))


def jobs_held() -> dict[int, Beat]:
    """Every job that somebody holds, with its beat."""
    running = Job.objects.filter(status=Job.Status.RUNNING)
    return {pk: Beat(fence, beat) for pk, fence, beat in running.values_list("pk", "fence", "beat")}


def job_free(*, job_id: int, seen: Beat) -> Job | None:
    """Take the job from a holder whose beat stands still: it waits again, or is dead. None: it moved."""
    still = Job.objects.filter(pk=job_id, fence=seen.fence, beat=seen.beat, status=Job.Status.RUNNING)
    with transaction.atomic():
        job = still.select_for_update().first()
        if job is None:
            return None
        job.status = Job.Status.QUEUED
        if job.attempts >= MAX_ATTEMPTS:
            job.status, job.finished_at = Job.Status.DEAD, timezone.now()
            job.reason = job.reason or REASON_WORKER_LOST
        job.save(update_fields=["status", "reason", "finished_at"])
    return job


def jobs_waiting(*, at_most: int) -> dict[int, int]:
    """Jobs that nobody took so far and how often each was rung for: the least rung first, then the urgent."""
    queued = Job.objects.filter(status=Job.Status.QUEUED).order_by("rings", "priority", "pk")
    return dict(queued.values_list("pk", "rings")[:at_most])


def jobs_waiting_count() -> int:
    return Job.objects.filter(status=Job.Status.QUEUED).count()


def job_claim_ring(*, job_id: int, rings: int) -> Job | None:
    """The one who gets the job may ring for it. None: taken meanwhile, or somebody else rings."""
    waiting = Job.objects.filter(pk=job_id, rings=rings, status=Job.Status.QUEUED)
    claimed = waiting.update(rings=F("rings") + 1, published_at=timezone.now())
    return Job.objects.filter(pk=job_id).first() if claimed else None


def _ended(status: str, reason: str) -> dict[str, object]:
    return {"status": status, "reason": reason[:200], "finished_at": timezone.now()}


def _held(lease: Lease) -> QuerySet[Job]:
    return Job.objects.filter(pk=lease.job_id, fence=lease.fence, status=Job.Status.RUNNING)


def _ring_on_commit(job: Job) -> None:
    ring: Callable[[], None] = partial(doorbell.ring_soon, job.pk, job.priority)
    transaction.on_commit(ring, robust=True)
