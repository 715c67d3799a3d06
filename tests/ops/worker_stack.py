"""A real Redis on a free port and Celery workers over one database, all of which a test may kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import redis
from django.conf import settings

from apps.ops.embedded import server_binary

ROOT = Path(__file__).resolve().parents[2]


class RedisServer:
    """`kill` and `start` again on the same port forget everything, like a machine that lost its memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        self.process = subprocess.Popen([str(server_binary()), *options], stdout=subprocess.DEVNULL)
        wait_until(self._answers, 60)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def _answers(self) -> bool:
        with redis.Redis.from_url(self.url, retry=None) as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False


class Worker:
    """A Celery worker as `runserver` starts it, in a process group of its own."""

    def __init__(self, folder: Path, redis_url: str, database: str) -> None:
        environment = os.environ | {
            "VAR_DIR": str(folder),
            "MODELS_DIR": str(settings.MODELS_DIR),
            "REDIS_URL": redis_url,
            "DATABASE_URL": database,
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "celery", "-A", "interview_site", "worker", "-c", "1", "-l", "INFO"]
        command += ["--include", "tests.ops.job_kinds_here", "--without-gossip", "--without-mingle"]
        self.log = folder / f"worker-{time.monotonic_ns()}.log"
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=out, stderr=out, start_new_session=True
            )

    def ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        return b"ready." in self.log.read_bytes()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Stack:
    """Redis and workers over one database."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.database = database
        self.redis = RedisServer(folder)
        self.workers: list[Worker] = []

    def start_workers(self, count: int) -> None:
        for _ in range(count):
            self.workers.append(Worker(self.folder, self.redis.url, self.database))
        wait_until(lambda: all(worker.ready() for worker in self.workers), 180)

    def marks(self) -> list[str]:
        path = self.folder / "marks"
        return path.read_text().splitlines() if path.exists() else []

    def process_of(self, subject_id: int) -> tuple[int, int]:
        """The pool process that works on a `slow` job, and its worker; waits for the start."""
        wait_until(lambda: f"start {subject_id}" in self.marks(), 120)
        line = next(mark for mark in self.marks() if mark.startswith(f"process {subject_id} "))
        pool, worker = line.split()[2:]
        return int(pool), int(worker)

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
        self.redis.kill()


def wait_until(true: Callable[[], object], limit_s: float) -> None:
    """Fails the test when it takes too long."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < limit_s, f"not within {limit_s} s"
        time.sleep(0.1)
