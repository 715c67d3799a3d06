"""Many runs of the machine, each process on rows and a disk of its own."""

from __future__ import annotations

import logging
import multiprocessing
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from django.db import connections
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.database import site_database
from tests.live.machine.world import FAST, World
from tests.live.stack import Person

STEPS = 20
QUESTIONS = 2
BATCH = 250  # a process's share; a failure is told by its number


@dataclass(frozen=True, slots=True)
class Result:
    """`failure` is "" when every run held; else it shows the steps that do not."""

    runs: int
    seconds: float
    failure: str = ""

    @property
    def failed(self) -> int:
        return int(bool(self.failure))


@contextmanager
def rows() -> Iterator[type[World]]:
    """The machine with an interview of its own in a database of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="viva-machine-", dir=FAST) as folder,
        site_database(Path(folder)),
        _quiet(),
    ):
        person = Person(questions=QUESTIONS)
        yield type("World", (World,), {"interview": person.interview})


def run(runs: int, *, jobs: int = 2, seconds: float = 3_600.0, first: int = 1) -> Result:
    """So many runs, or as many as begin in `seconds`; ends at the first that does not hold."""
    began = time.monotonic()
    batches = [(first + number, min(BATCH, runs - at)) for number, at in enumerate(range(0, runs, BATCH))]
    done, failure = 0, ""
    with rows():  # what is migrated here is copied by all
        connections.close_all()
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for held in pool.imap_unordered(partial(_batch, until=began + seconds), batches):
            done, failure = done + held.runs, failure or held.failure
            if failure:
                break
    return Result(done, time.monotonic() - began, failure)


def try_runs(world: type[World], runs: int, *, number: int | None = None) -> int:
    """How many were made; raises what does not hold. The same `number` is the same runs, None one more."""
    before = World.made
    machine = type("World", (world,), {})
    if number is not None:
        machine = seed(number)(machine)
    run_state_machine_as_test(machine, settings=_settings(runs, derandomize=number is None))
    return World.made - before


def _batch(batch: tuple[int, int], *, until: float) -> Result:
    """In a process of its own."""
    number, runs = batch
    began = time.monotonic()
    if began > until:
        return Result(0, 0.0)
    with rows() as world:
        try:
            made = try_runs(world, runs, number=number)
        except BaseException:  # noqa: BLE001 - told to the parent
            return Result(runs, time.monotonic() - began, f"batch {number}\n{traceback.format_exc()}")
    return Result(made, time.monotonic() - began)


@contextmanager
def _quiet() -> Iterator[None]:
    """The product tells of each fault, and here they are many."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _settings(runs: int, *, derandomize: bool) -> settings:
    return settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=derandomize,
        database=None,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
