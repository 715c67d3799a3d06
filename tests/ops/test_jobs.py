"""Jobs as rows: leases, beats, fences, attempts, and the ends that an attempt may come to."""

from __future__ import annotations

import pytest

from apps.ops import doorbell
from apps.ops.job_kinds import JobKind, job_kind_register
from apps.ops.jobs import (
    JobTimedOut,
    Lease,
    LeaseLost,
    job_beat,
    job_claim_ring,
    job_enqueue,
    job_fail,
    job_finish,
    job_free,
    job_guard,
    job_lease,
    job_retry,
    job_time_out,
    jobs_held,
    jobs_waiting,
)
from apps.ops.models import Job
from apps.ops.steps import Step
from apps.ops.tasks import run_job

pytestmark = pytest.mark.django_db


def enqueued(kind: str = "look", subject_id: int = 1, priority: int = 2) -> Job:
    return job_enqueue(organisation_id=1, kind=kind, subject_id=subject_id, priority=priority)


def leased(job: Job) -> Lease:
    lease = job_lease(job_id=job.pk)
    assert lease is not None
    return lease


def freed(job: Job) -> Job | None:
    return job_free(job_id=job.pk, seen=jobs_held()[job.pk])


def status(job: Job) -> tuple[str, str]:
    job.refresh_from_db()
    return job.status, job.reason


def register(run: object, failures: list[tuple[int, str]]) -> None:
    job_kind_register(JobKind("look", run, lambda *failure: failures.append(failure)))  # type: ignore[arg-type]


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


def test_a_lease_that_was_freed_passes_on_and_the_old_holder_may_not_write() -> None:
    job = enqueued()
    old = leased(job)
    assert freed(job) is not None
    new = leased(job)
    assert (new.fence, new.attempt) == (old.fence + 1, 2)
    assert not job_beat(old)
    assert not job_finish(old)
    assert not job_time_out(old)
    with pytest.raises(LeaseLost):
        job_guard(old)
    job_guard(new)
    assert job_finish(new)


def test_a_holder_who_moved_since_is_not_robbed() -> None:
    job = enqueued()
    lease = leased(job)
    seen = jobs_held()[job.pk]
    assert job_beat(lease)
    assert job_free(job_id=job.pk, seen=seen) is None
    job_guard(lease)


def test_the_next_holder_is_not_robbed_for_the_last_one_s_rest() -> None:
    job = enqueued()
    leased(job)
    seen = jobs_held()[job.pk]
    assert job_free(job_id=job.pk, seen=seen) is not None
    leased(job)
    assert job_free(job_id=job.pk, seen=seen) is None


def test_a_third_failure_is_the_last() -> None:
    job = enqueued()
    assert [job_fail(leased(job), reason="ValueError") for _ in range(3)] == [False, False, True]
    assert status(job) == ("dead", "ValueError")
    assert job_lease(job_id=job.pk) is None


def test_a_job_whose_holders_all_vanished_is_dead_with_a_reason() -> None:
    job = enqueued()
    for _ in range(3):
        leased(job)
        assert freed(job) is not None
    assert status(job) == ("dead", "worker lost")
    assert job_lease(job_id=job.pk) is None


def test_a_dead_job_can_be_tried_again_with_fresh_attempts() -> None:
    job = enqueued()
    job_fail(leased(job), reason="ValueError", final=True)
    assert job_retry(kind="look", subject_id=1)
    assert (status(job), leased(job).attempt) == (("queued", ""), 1)


def test_a_job_that_timed_out_can_be_tried_again_with_fresh_attempts() -> None:
    job = enqueued()
    assert job_time_out(leased(job))
    assert status(job) == ("timeout", "timeout")
    assert job_retry(kind="look", subject_id=1)
    assert (status(job), leased(job).attempt) == (("queued", ""), 1)


def test_a_job_that_waits_runs_or_is_done_is_not_tried_again() -> None:
    job = enqueued()
    assert not job_retry(kind="look", subject_id=1)
    lease = leased(job)
    assert not job_retry(kind="look", subject_id=1)
    job_finish(lease)
    assert not job_retry(kind="look", subject_id=1)
    assert not job_retry(kind="look", subject_id=2)


def test_of_two_who_would_ring_for_a_job_one_does_and_none_for_a_job_that_was_taken() -> None:
    job = enqueued()
    assert jobs_waiting(at_most=10) == {job.pk: 0}
    assert job_claim_ring(job_id=job.pk, rings=0) == job
    assert job_claim_ring(job_id=job.pk, rings=0) is None
    leased(job)
    assert job_claim_ring(job_id=job.pk, rings=1) is None


def test_a_fault_is_tried_three_times_and_told_once_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def run(lease: Lease, step: Step) -> None:
        raise ValueError("what somebody said")

    failures: list[tuple[int, str]] = []
    register(run, failures)
    job = enqueued()
    for _ in range(4):
        run_job(job.pk)
    assert (status(job), job.attempts, failures) == (("dead", "ValueError"), 3, [(1, "ValueError")])
    assert "what somebody said" not in caplog.text


def test_work_over_its_limit_is_not_tried_again() -> None:
    def run(lease: Lease, step: Step) -> None:
        raise JobTimedOut

    failures: list[tuple[int, str]] = []
    register(run, failures)
    job = enqueued()
    run_job(job.pk)
    assert (status(job), failures) == (("timeout", "timeout"), [(1, "timeout")])


def test_a_run_that_lost_its_lease_neither_finishes_nor_fails_the_job() -> None:
    def run(lease: Lease, step: Step) -> None:
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
