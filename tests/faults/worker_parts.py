"""Included by the lab's workers: fast clocks, and kinds of work that do harm. They leave marks in VAR_DIR."""

from __future__ import annotations

import os
import select
import signal
import time
from dataclasses import replace
from pathlib import Path

from apps.assessment import tasks as _tasks  # noqa: F401 - registers the analysis
from apps.ops.job_kinds import JobKind, job_kind, job_kind_register
from apps.ops.jobs import Lease, job_guard
from apps.ops.steps import Step
from tests.faults.clocks import set_clocks

set_clocks()


def _mark(word: str, lease: Lease) -> None:
    with (Path(os.environ["VAR_DIR"]) / "marks").open("a") as marks:
        marks.write(f"{word} {lease.kind} {lease.subject_id} {os.getpid()}\n")


def _finish(lease: Lease) -> None:
    job_guard(lease)
    _mark("done", lease)


def _slow_once(lease: Lease, step: Step) -> None:
    """The first attempt never gets there; the next ones take a second."""
    _mark("start", lease)
    time.sleep(600 if lease.attempt == 1 else 1)
    _finish(lease)


def _brief(lease: Lease, step: Step) -> None:
    _mark("start", lease)
    time.sleep(0.5)
    _finish(lease)


def _twelve_seconds(lease: Lease, step: Step) -> None:
    """Longer than a still beat is waited for."""
    _mark("start", lease)
    select.select([], [], [], 12)  # libfaketime does not know how Python sleeps
    _finish(lease)


def _poison(lease: Lease, step: Step) -> None:
    _mark("start", lease)
    os.kill(os.getpid(), signal.SIGKILL)


def _endless(lease: Lease, step: Step) -> None:
    _mark("start", lease)
    while True:
        time.sleep(1)


def _failed(subject_id: int, reason: str) -> None:
    with (Path(os.environ["VAR_DIR"]) / "marks").open("a") as marks:
        marks.write(f"failed {subject_id} {reason}\n")


for _name, _run in {
    "slow_once": _slow_once,
    "brief": _brief,
    "poison": _poison,
    "twelve_seconds": _twelve_seconds,
}.items():
    job_kind_register(JobKind(_name, _run, _failed, step_s=900.0))
job_kind_register(JobKind("endless", _endless, _failed, step_s=1.0))
if step_s := os.environ.get("LAB_STEP_S"):
    _analysis = job_kind("analyse_interview")
    assert _analysis is not None
    job_kind_register(replace(_analysis, step_s=float(step_s)))
