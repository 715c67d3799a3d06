"""Start-up time and memory of the whole tree: `runserver` as a user starts it, after one spoken answer."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Row, Table, tree
from tests.inference.spoken import ROOT, SPOKEN

START_LIMIT_S = 60.0
MB = 1024  # smaps counts kilobytes


def start_and_memory() -> list[Table]:
    """Two starts over one var/ (the first makes the database), then memory after a spoken answer."""
    with tempfile.TemporaryDirectory(prefix="viva-bench-") as var:
        with _server(Path(var)) as (_, _, first_s):
            pass
        with _server(Path(var)) as (process, url, second_s):
            _rehearse(url, Path(var))
            processes = _tree(process.pid)
    return [
        Table(
            "runserver → /readyz says ready, speech model warm in the background",
            [Row("first start (empty var/)", [first_s], "s"), Row("next start", [second_s], "s", goal=10.0)],
        ),
        Table("Memory (PSS) after a spoken answer", _memory(processes)),
    ]


@contextmanager
def _server(var: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, float]]:
    port = _free_port()
    env = {**os.environ, "VAR_DIR": str(var), "MODELS_DIR": str(ROOT / "var" / "models"), "PORT": str(port)}
    began = time.monotonic()
    with (var / "server.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "runserver", "--noreload"],
            cwd=ROOT,
            env=env,
            stdout=log,
            stderr=log,
        )
        try:
            _wait_ready(f"http://127.0.0.1:{port}/readyz", process)
            yield process, f"ws://127.0.0.1:{port}", time.monotonic() - began
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def _wait_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while time.monotonic() < limit and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if json.load(answer)["ready"]:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.05)
    raise RuntimeError("the server did not become ready")


def _rehearse(url: str, var: Path) -> None:
    env = {**os.environ, "VAR_DIR": str(var), "MODELS_DIR": str(ROOT / "var" / "models")}
    command = [
        sys.executable,
        "manage.py",
        "rehearse",
        str(SPOKEN / "star_quantified.wav"),
        "--url",
        url,
        "--json",
    ]
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL, timeout=120)


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    command: str
    pss_mb: float


def _tree(root: int) -> list[_Process]:
    return [_Process(pid, _command(pid), _pss_mb(pid)) for pid in tree(root)]


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def _pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) / MB for line in lines if line.startswith("Pss:"))


def _memory(tree: list[_Process]) -> list[Row]:
    speech = sum(p.pss_mb for p in tree if "whisper_worker" in p.command)
    worker = sum(p.pss_mb for p in tree if "celery" in p.command)
    redis = sum(p.pss_mb for p in tree if "valkey" in p.command)
    total = sum(p.pss_mb for p in tree)
    web = total - speech - worker - redis
    return [
        Row("web (and the process that supervises it)", [web], "MB"),
        Row("speech process", [speech], "MB"),
        Row("web + speech", [web + speech], "MB", goal=900),
        Row("Celery worker", [worker], "MB"),
        Row("embedded Redis", [redis], "MB"),
        Row("whole tree", [total], "MB", goal=1600),
    ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
