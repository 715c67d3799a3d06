"""The kinds of background work. Apps register theirs when their tasks are imported; ops knows none.

    def correct_answer(lease: Lease, step: Step) -> None:
        heard = ...          # gives up after step.left_s seconds
        step()               # in time, and the lease is held: what comes next has the whole limit again
        with transaction.atomic():
            job_guard(lease)
            ...              # write the results

    job_kind_register(JobKind("correct_answer", correct_answer, tell_that_nothing_will_come))

A worker imports the `tasks` module of every app; registering must happen in, or be imported by, that one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.ops.jobs import Lease
from apps.ops.steps import P2_STEP_S, Step


@dataclass(frozen=True, slots=True)
class JobKind:
    """How one kind of job runs.

    `run` does the work and writes results under `job_guard(lease)`; running it twice must give one result.
    No step of it may take longer than `step_s`. `failed(subject_id, reason)` tells the app, once, that
    nothing more will come; `reason` is "timeout" after a step over its limit.
    """

    name: str
    run: Callable[[Lease, Step], None]
    failed: Callable[[int, str], None]
    step_s: float = P2_STEP_S


_KINDS: dict[str, JobKind] = {}


def job_kind_register(kind: JobKind) -> None:
    _KINDS[kind.name] = kind


def job_kind(name: str) -> JobKind | None:
    return _KINDS.get(name)
