"""Keeps child processes running and never outlives, or is outlived by, them. Knows no Django.

Everything is spawned from the main thread: Linux ties PR_SET_PDEATHSIG to the spawning thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

BACKOFF_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
SETTLED_S = 30.0  # a child that lived this long starts again at the first back-off
LOG_KEPT_BYTES = 5_000_000
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
logger = logging.getLogger(__name__)


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent's spawning thread ends, however that came about."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent_pid:  # it was gone before we asked
            os._exit(1)


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run. Without `log` it shares our terminal. `stop_s`: from SIGTERM to SIGKILL."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    stdin: bytes = b""
    nice: int = 0
    stop_s: float = 1.0


class Child:
    """One process, started again with a growing pause when it dies."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec = spec
        self.process: subprocess.Popen[bytes] | None = None
        self._deaths = 0
        self._started_at = 0.0
        self._start_at = 0.0

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        parent = os.getpid()

        def in_child() -> None:
            die_with_parent(parent)
            if self.spec.nice:
                os.nice(self.spec.nice)

        with contextlib.ExitStack() as closing:
            output = closing.enter_context(_appended(self.spec.log)) if self.spec.log else None
            # A group of its own: Ctrl-C reaches the supervisor alone, which stops the rest in order.
            self.process = subprocess.Popen(  # noqa: S603
                self.spec.argv,
                env={**os.environ, **self.spec.env},
                stdin=subprocess.PIPE if self.spec.stdin else subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                preexec_fn=in_child,  # noqa: PLW1509 - the supervisor has one thread
                process_group=0,
            )
        if self.process.stdin:
            with contextlib.suppress(BrokenPipeError), self.process.stdin as pipe:
                pipe.write(self.spec.stdin)
        self._started_at = time.monotonic()

    def tend(self) -> None:
        """Call often: notices a death, waits out the back-off, starts again."""
        now = time.monotonic()
        if self.alive:
            return
        if self.process is not None:
            self._deaths = 0 if now - self._started_at > SETTLED_S else self._deaths
            pause_s = BACKOFF_S[min(self._deaths, len(BACKOFF_S) - 1)]
            logger.warning(
                "%s ended (%s); starting again in %.1f s", self.spec.name, self.process.poll(), pause_s
            )
            self.process, self._start_at, self._deaths = None, now + pause_s, self._deaths + 1
        elif now >= self._start_at:
            self.start()

    def restart(self) -> None:
        """Stop and start at once: something changed, so earlier deaths say nothing."""
        self.stop()
        self._deaths = 0
        self.start()

    def stop(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.terminate()  # only the leader: it ends its own children in order
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self.spec.stop_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever is left of its group
        process.wait(5)


def _appended(log: Path) -> IO[bytes]:
    """The log file to append to; an old one that grew large is set aside first."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > LOG_KEPT_BYTES:
            log.replace(log.with_suffix(".old.log"))
    return log.open("ab")


class Supervisor:
    """Tends children until SIGINT, SIGTERM or SIGHUP. Children stop in the reverse order of their start."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.stopping = False

    def catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._told_to_stop)

    def _told_to_stop(self, _number: int, _frame: object) -> None:
        self.stopping = True

    def add(self, spec: ChildSpec) -> Child:
        child = Child(spec)
        self.children.append(child)
        child.start()
        return child

    def wait_until(self, ready: Callable[[], bool], while_alive: Child, limit_s: float) -> bool:
        """Poll for readiness. False when the child died, time ran out or we were told to stop."""
        deadline = time.monotonic() + limit_s
        while not ready():
            if self.stopping or not while_alive.alive or time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def run(self, each_s: Callable[[], None] = lambda: None) -> None:
        """Tend the children; call `each_s` once a second."""
        next_call = time.monotonic()
        while not self.stopping:
            for child in self.children:
                child.tend()
            if time.monotonic() >= next_call:
                each_s()
                next_call = time.monotonic() + 1
            time.sleep(0.2)

    def stop(self) -> None:
        for child in reversed(self.children):
            child.stop()
