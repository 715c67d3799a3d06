"""A process forked while a thread is at work waits for it, or it would hang over that thread's locks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from apps.ops import sweeper
from apps.ops.sweeper import Sweeper, SweeperThread
from tests.ops.site import ROOT

FORKS = """
import os, threading, time
from apps.ops.fork_gate import ForkGate

gate, inside, finished = ForkGate(), threading.Event(), []

def work():
    with gate:
        inside.set()
        time.sleep(1)
        finished.append(True)

for _ in range(2):
    inside.clear()
    finished.clear()
    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        with gate:  # open in the child too
            os._exit(0 if finished else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread.join()
"""


def test_a_fork_waits_for_the_thread_at_work() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout.split() == ["0", "0"]


def test_a_sweep_is_such_work(monkeypatch: pytest.MonkeyPatch) -> None:
    at_work: list[bool] = []

    class Looking(Sweeper):
        def sweep(self) -> int:
            at_work.append(sweeper._not_while_forking._lock.locked())
            return 0

    SweeperThread()._sweep(Looking())
    assert at_work == [True]
