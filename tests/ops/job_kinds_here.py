"""Kinds of job that a test's real worker runs (celery --include). They leave marks in VAR_DIR."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from django.db import transaction

from apps.ops.job_kinds import JobKind, job_kind_register
from apps.ops.jobs import Lease, job_guard
from apps.ops.steps import Step


def _mark(name: str) -> None:
    with (Path(os.environ["VAR_DIR"]) / "marks").open("a") as marks:
        marks.write(name + "\n")


def _failed(subject_id: int, reason: str) -> None:
    _mark(f"failed {subject_id} {reason}")


def _quick(lease: Lease, step: Step) -> None:
    with transaction.atomic():
        job_guard(lease)
        _mark(f"done {lease.subject_id}")


def _slow(lease: Lease, step: Step) -> None:
    """On the first attempt it never gets there."""
    _mark(f"process {lease.subject_id} {os.getpid()} {os.getppid()}")
    _mark(f"start {lease.subject_id}")
    time.sleep(600 if lease.attempt == 1 else 1)
    _quick(lease, step)


def _two_seconds(lease: Lease, step: Step) -> None:
    _mark(f"start {lease.subject_id}")
    time.sleep(2)
    _quick(lease, step)


def _poison(lease: Lease, step: Step) -> None:
    _mark(f"start {lease.subject_id}")
    os.kill(os.getpid(), signal.SIGKILL)


def _deaf(lease: Lease, step: Step) -> None:
    """Native code that hears no exception: only killing its process ends it."""
    _mark(f"start {lease.subject_id}")
    while True:
        time.sleep(3600)


def _faulty(lease: Lease, step: Step) -> None:
    raise ValueError("a sentence somebody said")


for _name, _run in (("quick", _quick), ("slow", _slow), ("two_seconds", _two_seconds), ("poison", _poison)):
    job_kind_register(JobKind(_name, _run, _failed, 900.0))
job_kind_register(JobKind("faulty", _faulty, _failed))
job_kind_register(JobKind("deaf", _deaf, _failed, 0.1))
