"""Jobs through a real Redis and real workers that are killed: nothing lost, nothing done twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import current_app
from django.db import transaction

from apps.assessment.models import Report
from apps.interviews.services.live import ANALYSE
from apps.ops import doorbell
from apps.ops.jobs import job_enqueue
from apps.ops.models import Job
from tests.assessment import rows
from tests.database import site_database
from tests.ops.worker_stack import Stack, wait_until


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("jobs")
    with django_db_blocker.unblock(), site_database(folder) as database:
        stack = Stack(folder, database)
        before = current_app.conf.broker_url
        current_app.conf.broker_url = current_app.conf.broker_write_url = stack.redis.url + "/0"
        ring_s, doorbell.RING_S = doorbell.RING_S, 30.0  # this machine may be busy
        stack.redis.start()
        stack.start_workers(2)
        try:
            yield stack
        finally:
            stack.close()
            current_app.conf.broker_url = current_app.conf.broker_write_url = before
            doorbell.RING_S = ring_s


@pytest.fixture
def enqueue(stack: Stack) -> Callable[[str, int], Job]:
    def enqueue(kind: str, subject_id: int) -> Job:
        with transaction.atomic():
            return job_enqueue(organisation_id=1, kind=kind, subject_id=subject_id)

    return enqueue


def ended(job: Job) -> str:
    job.refresh_from_db()
    return job.status if job.status in {"done", "dead", "timeout"} else ""


def marks_of(stack: Stack, subject_id: int) -> list[str]:
    """What was left of starts and results."""
    return [mark for mark in stack.marks() if mark in {f"start {subject_id}", f"done {subject_id}"}]


def test_a_committed_job_runs(stack: Stack, enqueue: Callable[[str, int], Job]) -> None:
    job = enqueue("quick", 1)
    wait_until(lambda: ended(job), 60)
    assert stack.marks() == ["done 1"]


def test_a_wiped_and_restarted_redis_loses_no_job(stack: Stack, enqueue: Callable[[str, int], Job]) -> None:
    stack.redis.kill()
    numbers = (11, 12, 13)
    jobs = [enqueue("quick", number) for number in numbers]
    soon_again = "Trying again in 3.00 seconds... (3/"  # and not later each time
    wait_until(lambda: all(soon_again in worker.log.read_text() for worker in stack.workers), 120)
    stack.redis.start()
    stack.redis.flush()
    wait_until(lambda: all(ended(job) for job in jobs), 120)
    assert [marks_of(stack, number) for number in numbers] == [[f"done {number}"] for number in numbers]


def test_enqueueing_waits_for_no_broker_and_counts_the_lost_ring(
    stack: Stack, enqueue: Callable[[str, int], Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorbell, "RING_S", 10.0)  # what waiting would cost
    lost_before = doorbell.RINGS_LOST._value.get()
    assert stack.redis.process is not None
    stack.redis.process.send_signal(signal.SIGSTOP)
    job = enqueue("quick", 21)
    assert doorbell.RINGS_LOST._value.get() == lost_before
    wait_until(lambda: doorbell.RINGS_LOST._value.get() > lost_before, 120)
    stack.redis.process.send_signal(signal.SIGCONT)
    wait_until(lambda: ended(job), 120)


def test_the_same_job_delivered_twice_gives_one_result(
    stack: Stack, enqueue: Callable[[str, int], Job]
) -> None:
    job = enqueue("two_seconds", 31)
    assert doorbell.ring([(job.pk, 2), (job.pk, 2), (job.pk, 2)])
    wait_until(lambda: ended(job), 120)
    wait_until(lambda: doorbell.messages_waiting() == 0, 60)
    assert marks_of(stack, 31) == ["start 31", "done 31"]


def test_a_killed_pool_process_costs_an_attempt_and_poison_is_dead_after_three(
    stack: Stack, enqueue: Callable[[str, int], Job]
) -> None:
    slow = enqueue("slow", 41)
    pool, _ = stack.process_of(41)
    os.kill(pool, signal.SIGKILL)
    poison, other = enqueue("poison", 42), enqueue("quick", 43)
    wait_until(lambda: all(ended(job) for job in (slow, poison, other)), 240)
    assert marks_of(stack, 41) == ["start 41", "start 41", "done 41"]
    assert (slow.status, slow.attempts) == ("done", 2)
    assert marks_of(stack, 42) == ["start 42"] * 3
    assert (poison.status, poison.reason, poison.attempts) == ("dead", "worker lost", 3)
    assert stack.marks().count("failed 42 worker lost") == 1
    assert (other.status, other.attempts) == ("done", 1)


def test_a_worker_killed_halfway_costs_an_attempt_and_no_job(
    stack: Stack, enqueue: Callable[[str, int], Job]
) -> None:
    job = enqueue("slow", 51)
    _, pid = stack.process_of(51)
    next(worker for worker in stack.workers if worker.process.pid == pid).kill()
    wait_until(lambda: ended(job), 240)  # by the other worker; the first would take ten minutes
    assert marks_of(stack, 51) == ["start 51", "start 51", "done 51"]
    assert (job.attempts, job.status) == (2, "done")


def test_work_that_hears_nothing_is_killed_and_the_next_job_runs(
    stack: Stack, enqueue: Callable[[str, int], Job]
) -> None:
    deaf, next_one = enqueue("deaf", 61), enqueue("quick", 62)
    wait_until(lambda: ended(deaf) and ended(next_one), 120)
    assert (deaf.status, deaf.reason, deaf.attempts) == ("timeout", "timeout", 1)
    assert "failed 61 timeout" in stack.marks()


@pytest.mark.model
def test_a_worker_hears_an_answer_again_with_the_real_model(
    stack: Stack, model_dir: Path, spoken: Path
) -> None:
    (stack.folder / "media").mkdir()
    (stack.folder / "media" / "a.wav").write_bytes((spoken / "star_quantified.wav").read_bytes())
    interview = rows.interview(questions=1)
    turn = rows.turn(interview, 1, transcript="In my last job", audio_path="a.wav", audio_s=21.7)
    for number, (start_s, end_s) in enumerate([(0.0, 8.2), (8.2, 14.3), (14.3, 20.6)], 1):
        turn.utterances.create(number=number, text="live words", start_s=start_s, end_s=end_s)
    with transaction.atomic():
        job = job_enqueue(organisation_id=interview.organisation_id, kind=ANALYSE, subject_id=interview.pk)
    wait_until(lambda: ended(job), 180)
    turn.refresh_from_db()
    assert (job.status, job.reason) == ("done", "")
    assert "no outage" in turn.transcript
    assert "forty percent" in turn.transcript.lower() or "40%" in turn.transcript
    score = turn.scores.get(stage="deep")
    quotes = [quote for part in score.evidence.all() for quote in part.quotes]
    assert score.value >= 7
    assert quotes
    assert all(quote["text"] in turn.transcript for quote in quotes)
    assert all(0 <= quote["start_s"] < quote["end_s"] <= 21.7 for quote in quotes)
    assert Report.objects.get(interview=interview).status == "final"
    assert [event.type for event in interview.events.all()] == ["analysis.ready"]
