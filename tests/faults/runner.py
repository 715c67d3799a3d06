"""Runs scenarios, each in a forked process of its own, several at once, and says one line about each.

A failed one runs once more, alone, at the end: passing then it counts as retried, so that a machine's hiccup
is told from a fault. Skipped ones are named, and fail the run where CI=true.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.faults.invariants import findings
from tests.faults.lab import Lab, Scenario
from tests.faults.processes import ROOT, Unavailable

LOG_TAIL = 3_000
FORK = multiprocessing.get_context("fork")


@dataclass(slots=True)
class Result:
    """`outcome`: passed, failed or skipped."""

    id: str
    outcome: str
    seconds: float = 0.0
    why: str = ""
    figures: list[str] = field(default_factory=list)
    retried: bool = False
    log: str = ""

    @property
    def told(self) -> str:
        """The exception in one line."""
        return " ".join(self.why.partition("\nAssertionError: ")[2].split())[:400] or self.why[-200:]


@dataclass(slots=True)
class _Running:
    scenario: Scenario
    process: BaseProcess
    pipe: Connection
    began: float
    limit_s: float


@dataclass(frozen=True, slots=True)
class Options:
    patience: float = 3.0
    jobs: int = 2
    seed: int = 1


class Runner:
    def __init__(self, options: Options) -> None:
        self.options = options
        self._folder = Path(tempfile.mkdtemp(prefix="viva-faults-"))
        self._folder.chmod(0o755)
        self._migrated = self._folder / "migrated.sqlite3"

    def run(self, scenarios: Sequence[Scenario]) -> list[Result]:
        """Every scenario's result, in the order of the list."""
        try:
            self._migrate()
            results = self._run_all(scenarios, self.options.jobs)
            failed = [one for one in scenarios if results[one.id].outcome == "failed"]
            for one in failed:
                again = self._run_all([one], 1)[one.id]
                again.retried, first = True, results[one.id]
                if again.outcome == "passed":
                    again.why, again.log = first.why, first.log
                    results[one.id] = again
            return [results[one.id] for one in scenarios]
        finally:
            _unmount_below(self._folder)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _migrate(self) -> None:
        environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{self._migrated}",
            "VAR_DIR": str(self._folder / "var"),
        }
        argv = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
        subprocess.run(argv, cwd=ROOT, env=environment, check=True, timeout=300)

    def _run_all(self, scenarios: Sequence[Scenario], jobs: int) -> dict[str, Result]:
        waiting, running = list(scenarios), list[_Running]()
        results: dict[str, Result] = {}
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    running.append(self._begin(waiting.pop(0)))
                for one in self._over(running):
                    running.remove(one)
                    results[one.scenario.id] = result = _end(one)
                    print(line_of(result, one.scenario), flush=True)
        finally:
            for one in running:
                _end(one)
        return results

    def _begin(self, scenario: Scenario) -> _Running:
        ours, theirs = FORK.Pipe(duplex=False)
        folder = Path(tempfile.mkdtemp(prefix=f"{scenario.id}-", dir=self._folder))
        folder.chmod(0o755)
        arguments = (scenario, folder, self._migrated, self.options, theirs)
        process = FORK.Process(target=_in_child, args=arguments, name=scenario.id)
        process.start()
        theirs.close()
        limit_s = scenario.limit_s * max(1.0, self.options.patience / 3)
        return _Running(scenario, process, ours, time.monotonic(), limit_s)

    def _over(self, running: Sequence[_Running]) -> list[_Running]:
        """Those that ended or ran past their limit."""
        ready = wait([one.pipe for one in running], timeout=0.2)
        now = time.monotonic()
        return [one for one in running if one.pipe in ready or now - one.began > one.limit_s]


def _unmount_below(folder: Path) -> None:
    """A scenario that was killed left its small disk behind."""
    mounts = Path("/proc/mounts")
    for line in mounts.read_text().splitlines() if mounts.exists() else []:
        where = line.split()[1]
        if where.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", where], check=False, capture_output=True)


def _end(one: _Running) -> Result:
    seconds = time.monotonic() - one.began
    result = Result(one.scenario.id, "failed", seconds, f"killed after {seconds:.0f} s")
    with suppress(EOFError, OSError):
        if one.pipe.poll(0):
            result = one.pipe.recv()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(one.process.pid or 0, signal.SIGKILL)  # itself and all it started
    one.process.join()
    one.pipe.close()
    result.seconds = seconds
    return result


def _in_child(scenario: Scenario, folder: Path, migrated: Path, options: Options, pipe: Connection) -> None:
    os.setpgid(0, 0)
    pipe.send(run_one(scenario, folder, migrated, options))
    pipe.close()
    os._exit(0)


def run_one(scenario: Scenario, folder: Path, migrated: Path, options: Options) -> Result:
    """In this very process: the scenario, then the invariants, then everything it started is ended."""
    lab = Lab(folder, migrated, options.patience, options.seed)
    try:
        asyncio.run(_run(scenario, lab))
    except Unavailable as exc:
        return Result(scenario.id, "skipped", why=str(exc))
    except BaseException:  # noqa: BLE001 - whatever it was, the runner says it
        log = lab.logs()[-LOG_TAIL:]
        return Result(scenario.id, "failed", why=traceback.format_exc(), figures=lab.figures, log=log)
    return Result(scenario.id, "passed", figures=lab.figures)


async def _run(scenario: Scenario, lab: Lab) -> None:
    async with lab.closing:
        await scenario.run(lab)
        found = await findings(lab)
        assert not found, "\n".join(found)


def line_of(result: Result, scenario: Scenario) -> str:
    figures = f"  [{', '.join(result.figures)}]" if result.figures else ""
    why = f"  ({result.why})" if result.outcome == "skipped" else ""
    if result.outcome == "failed":
        why = f"\n        {result.told}"
    return f"{result.id:<8}{result.outcome:<8}{result.seconds:6.1f} s  {scenario.title}{figures}{why}"


def closing_lines(results: Sequence[Result], *, strict: bool) -> tuple[list[str], bool]:
    """What is said at the end, and whether the run failed. `strict`: a skipped scenario fails it."""
    failed = [one for one in results if one.outcome == "failed"]
    skipped = [one for one in results if one.outcome == "skipped"]
    lines = [f"--- {one.id}\n{one.why}\n{one.log}" for one in results if one.outcome != "skipped" and one.why]
    lines += [f"skipped: {one.id} ({one.why})" for one in skipped]
    lines += [f"retried: {one.id} passed alone" for one in results if one.retried and one.outcome == "passed"]
    if strict and skipped:
        lines.append("where CI=true every scenario must run")
    passed = sum(one.outcome == "passed" for one in results)
    lines.append(f"faultlab: {passed} passed, {len(failed)} failed")
    return lines, bool(failed) or (strict and bool(skipped))
