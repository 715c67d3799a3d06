"""The whole site as a process of its own: `manage.py runserver`, its children, and what it says."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.database import site_environment

ROOT = Path(__file__).resolve().parents[2]
START_S = 180.0  # the tests' machine may be busy; `make bench` holds the start to 10 s


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def environment(var: Path, **extra: str) -> dict[str, str]:
    ours = {"VAR_DIR", "REDIS_URL", "DATABASE_URL", "LLM_URLS", "PORT", "RUN_MAIN", "DEBUG", "SECRET_KEY"}
    ours |= {"MAKELEVEL", "MAKEFLAGS", "MFLAGS"}  # of the `make test` around us
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, "VAR_DIR": str(var), "MODELS_DIR": str(ROOT / "var" / "models"), **extra}


def manage(var: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself."""
    argv = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        argv, cwd=ROOT, env=environment(var, **env), capture_output=True, text=True, timeout=180, check=False
    )


def one_line(error: str) -> str:
    lines = [line for line in error.splitlines() if line.strip()]
    assert len(lines) == 1, error
    return lines[0]


def wait_for(what: Callable[[], Any], limit_s: float) -> Any:
    """The first true value within the limit, else an assertion."""
    deadline = time.monotonic() + limit_s
    while not (found := what()):
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.05)
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Site:
    def __init__(self, var: Path, *arguments: str, **env: str) -> None:
        self.port = free_port()
        self.output = var.parent / f"output-{self.port}.txt"
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "runserver", *arguments],
                cwd=ROOT,
                env=environment(var, PORT=str(self.port), **site_environment(var), **env),
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        return self.output.read_text()

    def started(self) -> Site:
        wait_for(lambda: "Ctrl-C stops it" in self.said or self.process.poll() is not None, START_S)
        assert self.process.poll() is None, self.said
        return self

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode()

    def missing(self) -> list[str]:
        found: list[str] = json.loads(self.get("/readyz")[1])["missing"]
        return found

    def family(self) -> dict[int, str]:
        """Every living descendant: pid to command line."""
        parents: dict[int, int] = {}
        lines: dict[int, str] = {}
        for entry in Path("/proc").iterdir():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                lines[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
                parents[int(entry.name)] = int(stat[1])
            except (OSError, ValueError):
                continue
        known = {self.process.pid}
        while new := {pid for pid, parent in parents.items() if parent in known} - known:
            known |= new
        return {pid: lines[pid] for pid in known - {self.process.pid}}

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)
