"""The sweeper frees jobs whose holder's beat stands still and rings for those that nobody heard of.

Its clock is moved by hand; the broker is a real Redis.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from celery import current_app
from django.db import OperationalError
from django.utils import timezone

from apps.ops import doorbell, sweeper
from apps.ops.job_kinds import JobKind, job_kind_register
from apps.ops.jobs import Lease, job_beat, job_enqueue, job_lease
from apps.ops.models import Job
from apps.ops.sweeper import Sweeper, SweeperThread
from tests.clock import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sweeps(clock: Clock) -> Sweeper:
    return Sweeper(clock)


def go_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("broker_url", "broker_write_url"):
        monkeypatch.setattr(current_app.conf, name, url)


@pytest.fixture
def broker(redis: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A real one, whose queue is empty, however slow this machine is."""
    go_to(redis + "/0", monkeypatch)
    monkeypatch.setattr(doorbell, "RING_S", 30.0)
    with current_app.connection_for_write() as connection:
        connection.default_channel.queue_purge(current_app.conf.task_default_queue)
    return redis + "/0"


def enqueued(subject_id: int = 1, priority: int = 2) -> Job:
    return job_enqueue(organisation_id=1, kind="look", subject_id=subject_id, priority=priority)


def leased(job: Job) -> Lease:
    lease = job_lease(job_id=job.pk)
    assert lease is not None
    return lease


def look(sweeps: Sweeper, clock: Clock, times: int) -> int:
    rung = 0
    for _ in range(times):
        rung += sweeps.sweep()
        clock.now_s += sweeper.LOOK_S
    return rung


def status(job: Job) -> str:
    job.refresh_from_db()
    return job.status


def test_a_job_whose_holder_stands_still_is_freed_and_rung_for(
    broker: str, sweeps: Sweeper, clock: Clock
) -> None:
    job = enqueued()
    leased(job)
    assert look(sweeps, clock, 4) == 0
    assert status(job) == "running"
    assert look(sweeps, clock, 1) == 1
    assert (status(job), doorbell.messages_waiting()) == ("queued", 1)


def test_a_job_whose_holder_lives_is_left_alone(broker: str, sweeps: Sweeper, clock: Clock) -> None:
    job = enqueued()
    lease = leased(job)
    for _ in range(20):
        assert job_beat(lease)
        assert look(sweeps, clock, 2) == 0
    assert status(job) == "running"


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1), timedelta(hours=-1)])
def test_a_jump_of_the_wall_clock_neither_frees_nor_keeps_a_job(
    jump: timedelta, broker: str, sweeps: Sweeper, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, left, unheard = (enqueued(number) for number in (1, 2, 3))
    lease, _ = leased(held), leased(left)
    look(sweeps, clock, 1)
    jumped = datetime.now(UTC) + jump
    monkeypatch.setattr(timezone, "now", lambda: jumped)
    for _ in range(5):
        job_beat(lease)
        look(sweeps, clock, 1)
    assert [status(job) for job in (held, left, unheard)] == ["running", "queued", "queued"]
    assert doorbell.messages_waiting() == 2


def test_the_last_attempt_of_a_vanished_holder_is_told_once(
    broker: str, sweeps: Sweeper, clock: Clock
) -> None:
    failures: list[tuple[int, str]] = []
    job_kind_register(JobKind("look", lambda *_: None, lambda *failure: failures.append(failure)))
    job = enqueued()
    for _ in range(3):
        leased(job)
        look(sweeps, clock, 5)
    look(Sweeper(clock), clock, 10)
    assert (status(job), job.reason, failures) == ("dead", "worker lost", [(1, "worker lost")])
    assert doorbell.messages_waiting() == 2  # none for the dead


def test_two_sweepers_free_a_job_once(broker: str, clock: Clock) -> None:
    leased(enqueued())
    first, second = Sweeper(clock), Sweeper(clock)
    rung = 0
    for _ in range(6):
        rung += first.sweep() + second.sweep()
        clock.now_s += sweeper.LOOK_S
    assert rung == 1


def test_jobs_that_nobody_heard_of_are_rung_for_the_urgent_ones_first(
    broker: str, sweeps: Sweeper, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[int] = []
    ring = doorbell.ring

    def listening(jobs: object) -> bool:
        pairs = list(jobs)  # type: ignore[call-overload]
        rung.extend(job_id for job_id, _ in pairs)
        return ring(pairs)

    monkeypatch.setattr(doorbell, "ring", listening)
    later, sooner = enqueued(1, priority=3), enqueued(2, priority=2)
    assert look(sweeps, clock, 3) == 0
    assert look(sweeps, clock, 1) == 2
    assert rung == [sooner.pk, later.pk]


def test_the_broker_never_holds_more_messages_than_jobs_wait(
    broker: str, sweeps: Sweeper, clock: Clock
) -> None:
    jobs = [enqueued(number) for number in range(3)]
    assert look(sweeps, clock, 30) == 3
    with current_app.connection_for_write() as connection:
        queue = current_app.conf.task_default_queue
        connection.default_channel.basic_get(queue, no_ack=True)  # one is lost
    assert look(sweeps, clock, 30) == 1
    assert doorbell.messages_waiting() == len(jobs)


def test_a_wiped_broker_is_filled_again(broker: str, sweeps: Sweeper, clock: Clock) -> None:
    for number in range(5):
        enqueued(number)
    look(sweeps, clock, 5)
    with current_app.connection_for_write() as connection:
        connection.default_channel.queue_purge(current_app.conf.task_default_queue)
    assert doorbell.messages_waiting() == 0
    look(sweeps, clock, 5)
    assert doorbell.messages_waiting() == 5


def test_without_a_broker_jobs_are_freed_and_rung_for_when_it_is_back(
    broker: str, sweeps: Sweeper, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_to("redis://127.0.0.1:1/0", monkeypatch)
    job = enqueued()
    leased(job)
    assert look(sweeps, clock, 10) == 0
    assert status(job) == "queued"
    go_to(broker, monkeypatch)
    assert look(sweeps, clock, 1) == 1


def test_sweeping_goes_on_after_a_fault_and_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away(Sweeper):
        def sweep(self) -> int:
            raise OperationalError("the database is away")

    before = sweeper.SWEEPS_FAILED._value.get()
    thread = SweeperThread()
    looks = iter([False, False, True])
    monkeypatch.setattr(sweeper, "Sweeper", Away)
    monkeypatch.setattr(thread._over, "wait", lambda _: next(looks))
    thread.run()
    assert sweeper.SWEEPS_FAILED._value.get() == before + 2
