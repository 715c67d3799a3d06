"""Whoever works on a job raises its beat, hears of a lost lease, and is ended when far over its limit."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from apps.ops import lease_keeper
from apps.ops.job_kinds import JobKind
from apps.ops.jobs import Lease, LeaseLost, job_beat, job_enqueue, job_lease
from apps.ops.lease_keeper import LeaseKeeper
from apps.ops.models import Job
from tests.ops.worker_stack import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "BEAT_S", 0.02)


@pytest.fixture
def lease() -> Lease:
    job = job_enqueue(organisation_id=1, kind="look", subject_id=1)
    lease = job_lease(job_id=job.pk)
    assert lease is not None
    return lease


def kind(failures: list[tuple[int, str]] | None = None, step_s: float = 600.0) -> JobKind:
    told = [] if failures is None else failures
    return JobKind("look", lambda *_: None, lambda *failure: told.append(failure), step_s)


def beats() -> int:
    return Job.objects.get().beat


def test_the_beat_rises_while_the_work_goes_on_and_not_after_it(lease: Lease) -> None:
    with LeaseKeeper(lease, kind()):
        wait_until(lambda: beats() > 2, 60)
    assert "lease" not in {thread.name for thread in threading.enumerate()}


def test_a_lease_that_was_lost_ends_the_work_at_its_next_step(lease: Lease) -> None:
    def lost() -> bool:
        try:
            step()
        except LeaseLost:
            return True
        return False

    with LeaseKeeper(lease, kind()) as step:
        assert not lost()
        Job.objects.update(fence=lease.fence + 1)
        wait_until(lost, 60)


@pytest.mark.parametrize("fault", [OperationalError("locked"), InterfaceError("closed")])
def test_a_database_that_is_away_for_a_while_costs_no_lease(
    fault: Exception, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [fault, fault, fault]

    def beat(held: Lease) -> bool:
        if faults:
            raise faults.pop()
        return job_beat(held)

    monkeypatch.setattr(lease_keeper, "job_beat", beat)
    with LeaseKeeper(lease, kind()) as step:
        wait_until(lambda: beats() > 1, 60)
        assert not faults
        step()


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would have ended this process."""
    kills: list[Any] = []
    monkeypatch.setattr(lease_keeper, "GRACE_S", 0.0)
    monkeypatch.setattr(os, "kill", lambda *kill: kills.append(kill))
    return kills


def test_work_far_over_its_limit_is_killed_and_the_app_is_told(lease: Lease, kills: list[Any]) -> None:
    failures: list[tuple[int, str]] = []
    with LeaseKeeper(lease, kind(failures, step_s=0.0)):
        wait_until(lambda: kills, 60)
    assert kills[0] == (os.getpid(), signal.SIGKILL)
    assert (Job.objects.get().status, failures) == ("timeout", [(1, "timeout")])


def test_it_is_killed_although_nobody_can_be_told(
    lease: Lease, kills: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(lease_keeper, "attempt_timed_out", away)
    with LeaseKeeper(lease, kind(step_s=0.0)):
        wait_until(lambda: kills, 60)
    assert Job.objects.get().status == "running"  # for the sweeper to find


def test_work_within_its_grace_is_not_killed(
    lease: Lease, kills: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_keeper, "GRACE_S", 600.0)
    with LeaseKeeper(lease, kind(step_s=0.0)):
        wait_until(lambda: beats() > 2, 60)
    assert not kills
