"""Jobs as rows, with time moved by hand: leases, fences, attempts and the sweeper's choice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.ops import doorbell
from apps.ops.job_kinds import JobKind, job_kind_register
from apps.ops.jobs import (
    JobTimedOut,
    Lease,
    LeaseLost,
    job_enqueue,
    job_fail,
    job_finish,
    job_guard,
    job_lease,
    job_renew,
    job_retry,
    jobs_expired_bury,
    jobs_to_ring,
)
from apps.ops.models import Job
from apps.ops.tasks import run_job

pytestmark = pytest.mark.django_db


def enqueued(kind: str = "look", subject_id: int = 1, priority: int = 2) -> Job:
    return job_enqueue(organisation_id=1, kind=kind, subject_id=subject_id, priority=priority)


def leased(job: Job) -> Lease:
    lease = job_lease(job_id=job.pk)
    assert lease is not None
    return lease


def holder_vanished(job: Job) -> None:
    Job.objects.filter(pk=job.pk).update(leased_until=timezone.now() - timedelta(seconds=1))


def rung_long_ago() -> None:
    Job.objects.update(published_at=timezone.now() - timedelta(minutes=5))


def status(job: Job) -> tuple[str, str]:
    job.refresh_from_db()
    return job.status, job.reason


def register(run: object, failures: list[tuple[int, str]]) -> None:
    job_kind_register(JobKind("look", run, lambda _: 60.0, lambda *failure: failures.append(failure)))  # type: ignore[arg-type]


def test_enqueueing_twice_makes_one_job() -> None:
    assert enqueued().pk == enqueued().pk
    assert Job.objects.count() == 1


def test_a_finished_job_is_not_started_again_by_enqueueing_it() -> None:
    job = enqueued()
    job_finish(leased(job))
    assert enqueued().status == Job.Status.DONE


def test_a_leased_job_is_nobody_elses() -> None:
    job = enqueued()
    leased(job)
    assert job_lease(job_id=job.pk) is None


def test_an_expired_lease_passes_on_and_the_old_holder_may_not_write() -> None:
    job = enqueued()
    old = leased(job)
    holder_vanished(job)
    new = leased(job)
    assert (new.fence, new.attempt) == (old.fence + 1, 2)
    assert not job_renew(old)
    assert not job_finish(old)
    with pytest.raises(LeaseLost):
        job_guard(old)
    job_guard(new)
    assert job_finish(new)


def test_a_renewed_lease_does_not_expire() -> None:
    job = enqueued()
    lease = leased(job)
    holder_vanished(job)
    assert job_renew(lease)
    assert job_lease(job_id=job.pk) is None


def test_a_third_failure_is_the_last() -> None:
    job = enqueued()
    assert [job_fail(leased(job), reason="ValueError") for _ in range(3)] == [False, False, True]
    assert status(job) == ("dead", "ValueError")
    assert job_lease(job_id=job.pk) is None


def test_a_job_whose_holders_all_vanished_is_buried_with_a_reason() -> None:
    job = enqueued()
    for _ in range(3):
        leased(job)
        holder_vanished(job)
    assert job_lease(job_id=job.pk) is None
    assert [buried.pk for buried in jobs_expired_bury()] == [job.pk]
    assert status(job) == ("dead", "worker lost")
    assert jobs_expired_bury() == []


def test_a_dead_job_can_be_tried_again_with_fresh_attempts() -> None:
    job = enqueued()
    job_fail(leased(job), reason="timeout", final=True)
    assert job_retry(kind="look", subject_id=1)
    assert (status(job), leased(job).attempt) == (("queued", ""), 1)


def test_only_a_dead_job_can_be_tried_again() -> None:
    enqueued()
    assert not job_retry(kind="look", subject_id=1)
    assert not job_retry(kind="look", subject_id=2)


def test_the_sweeper_rings_for_everything_open_when_the_broker_is_empty() -> None:
    waiting, vanished, running = (enqueued(subject_id=number) for number in (1, 2, 3))
    for job in (vanished, running):
        leased(job)
    holder_vanished(vanished)
    rung_long_ago()
    assert {job.pk for job in jobs_to_ring(all_queued=True)} == {waiting.pk, vanished.pk}


def test_the_sweeper_does_not_ring_twice_within_one_round() -> None:
    enqueued()
    rung_long_ago()
    assert len(jobs_to_ring(all_queued=True)) == 1
    assert jobs_to_ring(all_queued=True) == []


def test_messages_still_waiting_are_not_multiplied() -> None:
    enqueued(subject_id=1)
    vanished = enqueued(subject_id=2)
    leased(vanished)
    rung_long_ago()
    holder_vanished(vanished)
    assert [job.pk for job in jobs_to_ring(all_queued=False)] == [vanished.pk]
    now = timezone.now()
    Job.objects.update(published_at=now - timedelta(seconds=30), leased_until=now - timedelta(seconds=60))
    assert jobs_to_ring(all_queued=False) == []


def test_urgent_jobs_ring_first() -> None:
    later, sooner = enqueued(subject_id=1, priority=3), enqueued(subject_id=2, priority=2)
    rung_long_ago()
    assert [job.pk for job in jobs_to_ring(all_queued=True)] == [sooner.pk, later.pk]


def test_a_fault_is_tried_three_times_and_told_once_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def run(lease: Lease) -> None:
        raise ValueError("what somebody said")

    failures: list[tuple[int, str]] = []
    register(run, failures)
    job = enqueued()
    for _ in range(4):
        run_job(job.pk)
    assert (status(job), job.attempts, failures) == (("dead", "ValueError"), 3, [(1, "ValueError")])
    assert "what somebody said" not in caplog.text


def test_work_over_its_budget_is_not_tried_again() -> None:
    def run(lease: Lease) -> None:
        raise JobTimedOut

    failures: list[tuple[int, str]] = []
    register(run, failures)
    job = enqueued()
    run_job(job.pk)
    assert (status(job), failures) == (("dead", "timeout"), [(1, "timeout")])


def test_a_run_that_lost_its_lease_neither_finishes_nor_fails_the_job() -> None:
    def run(lease: Lease) -> None:
        Job.objects.filter(pk=lease.job_id).update(fence=lease.fence + 1)
        job_guard(lease)

    failures: list[tuple[int, str]] = []
    register(run, failures)
    job = enqueued()
    run_job(job.pk)
    assert (status(job)[0], failures) == ("running", [])


def test_a_kind_that_no_app_registered_is_dead_at_once() -> None:
    job = enqueued(kind="unheard")
    run_job(job.pk)
    assert status(job) == ("dead", "no worker here knows unheard")


def test_a_job_rings_after_the_commit_and_not_before(
    django_capture_on_commit_callbacks: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    rings: list[tuple[int, int]] = []
    monkeypatch.setattr(doorbell, "ring_soon", lambda *ring: rings.append(ring))
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        job = enqueued()
        assert rings == []
    assert rings == [(job.pk, 2)]
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        enqueued()
    assert len(rings) == 1
