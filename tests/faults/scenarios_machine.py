"""The protocol's proof: a page, a lossy link and the server's own code, moved by Hypothesis."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

from tests.faults.lab import Lab, scenario
from tests.faults.processes import ROOT

RUNS = 10_000


@scenario("M", f"{RUNS} runs of the protocol, the server dying at each point: 0 lost", limit_s=1_500)
async def machine(lab: Lab) -> None:
    argv = [sys.executable, "-m", "tests.live.machine", "--runs", str(RUNS), "--seed", str(lab.seed)]
    done = await asyncio.to_thread(
        subprocess.run, argv, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-2_000:]}{done.stderr[-6_000:]}"
    lab.figures.append(done.stdout.strip().splitlines()[-1])
