"""Processes that a scenario starts, kills, freezes and waits for. All end with the process that made them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from apps.ops.supervisor import die_with_parent

ROOT = Path(__file__).resolve().parents[2]


class Unavailable(Exception):  # noqa: N818 - a machine without the means, not a fault
    """The scenario cannot run on this machine; says why."""


class Process:
    """One program with a log of its own; `start` again appends to it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.argv, self.environment, self.log = list(argv), dict(environment), log
        self.starts = 0
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._popen is not None, f"{self.log.stem} does not run"
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def start(self) -> None:
        parent = os.getpid()
        self.starts += 1
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as out:
            self._popen = subprocess.Popen(
                self.argv,
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                preexec_fn=lambda: die_with_parent(parent),  # noqa: PLW1509 - as in the supervisor
            )

    def kill(self) -> None:
        """-9, for it and everything it started."""
        if self._popen is None:
            return
        family = descendants(self._popen.pid)
        self._popen.kill()
        self._popen.wait()
        for pid in family:
            send(pid, signal.SIGKILL)
        self._popen = None

    def ask_to_stop(self) -> None:
        send(self.pid, signal.SIGTERM)

    def exited(self) -> int | None:
        """The exit status once it has ended."""
        return self._popen.poll() if self._popen is not None else 0

    def freeze(self) -> None:
        send(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        send(self.pid, signal.SIGCONT)

    def memory_mb(self) -> float:
        return _status(self.pid, "VmRSS") / 1024

    def cpu_s(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads(self) -> int:
        return _status(self.pid, "Threads")


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found: list[int] = []
    for task in _tasks(pid):
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                found += [int(child), *descendants(int(child))]
    return found


def send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone_within(pid: int, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _tasks(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def _status(pid: int, name: str) -> int:
    line = Path(f"/proc/{pid}/status").read_text().split(f"{name}:")[1]
    return int(line.split()[0])
