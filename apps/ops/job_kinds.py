"""The kinds of background work. Apps register theirs when their tasks are imported; ops knows none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apps.ops.jobs import Lease


@dataclass(frozen=True, slots=True)
class JobKind:
    """How one kind of job runs.

    `run` does the work and writes results under `job_guard(lease)`; running it twice must give one result.
    `budget_s` is how long that may take for a subject. `failed(subject_id, reason)` tells the app, once, that
    nothing more will come.
    """

    name: str
    run: Callable[[Lease], None]
    budget_s: Callable[[int], float]
    failed: Callable[[int, str], None]


_KINDS: dict[str, JobKind] = {}


def job_kind_register(kind: JobKind) -> None:
    _KINDS[kind.name] = kind


def job_kind(name: str) -> JobKind | None:
    return _KINDS.get(name)
