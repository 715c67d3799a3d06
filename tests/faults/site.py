"""A whole site in a folder of its own: a web process, workers, rows and files, all of which may be hurt.

`Site` is made by `Lab.site`; its web process is `tests.faults.web`, so the server is the site's own and only
its engines are scripted. Everything ends with the scenario. `start_web` after `kill_web` is the same machine
coming back: same port, same files, same rows.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from tests.faults.exchange import Reply, ask
from tests.faults.processes import ROOT, Process
from tests.faults.web import HUNG
from tests.ops.site import accepts, free_port

HEARD = (
    "Last year our checkout service lost orders. "
    "I rewrote the queue consumer and cut lost orders by forty percent."
)
NOBODY = "redis://127.0.0.1:1"  # nothing listens there: a live interview needs no Redis
START_S = 120.0
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a site is made of. `clocks`: see tests.faults.clocks. `heard` empty: answers are typed."""

    redis_url: str = NOBODY
    database_url: str = ""  # empty: a SQLite file in the site's folder
    heard: str = HEARD
    heard_after_s: float = 0.0
    clocks: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class Site:
    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder, self.plan = folder, plan
        self.database_url = plan.database_url or f"sqlite:///{folder / 'viva.sqlite3'}"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.web = Process(
            [sys.executable, "-m", "tests.faults.web", str(self.port)],
            self._environment(),
            folder / "web.log",
        )
        self.workers: list[Process] = []
        self.replies: list[Reply] = []
        self.outer_s = 0.0  # how long the latest start took

    @property
    def database_file(self) -> Path:
        return Path(self.database_url.removeprefix("sqlite:///"))

    def start_web(self) -> None:
        """Returns at once; `Lab.site` and `Lab.restart` wait until it answers."""
        self.started_at = time.monotonic()
        self.web.start()

    def listens(self) -> bool:
        assert self.web.alive, f"the web process ended: {self.web.said[-2_000:]}"
        if not accepts(self.port):
            return False
        self.outer_s = time.monotonic() - self.started_at
        return True

    def add_worker(self, **environment: str) -> Process:
        """A Celery worker as `runserver` starts it, with the lab's kinds of jobs beside the site's."""
        argv = [sys.executable, "-m", "celery", "-A", "interview_site", "worker", "-c", "1", "-l", "INFO"]
        argv += ["--queues", "analysis", "--include", "tests.faults.worker_parts"]
        argv += ["--without-gossip", "--without-mingle", "-n", f"w{len(self.workers)}@%h"]
        log = self.folder / f"worker-{len(self.workers)}.log"
        worker = Process(argv, {**self._environment(), **environment}, log)
        self.workers.append(worker)
        worker.start()
        return worker

    def marks(self) -> list[str]:
        """What the lab's jobs left behind: `start KIND SUBJECT PID`, `done …`, `failed SUBJECT REASON`."""
        path = self.folder / "marks"
        return path.read_text().splitlines() if path.exists() else []

    def spools(self) -> list[Path]:
        return sorted((self.folder / "spool").glob("*/*.spool"))

    async def ask(self, method: str, path: str, **options: str) -> Reply:
        """A request whose answer the invariants look at too."""
        reply = await ask(method, self.url + path, **options)  # type: ignore[arg-type]
        self.replies.append(reply)
        return reply

    async def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric over all samples that carry these labels."""
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        samples = _SAMPLE.findall((await self.ask("GET", "/metrics")).body)
        found = [
            float(value) for one, shown, value in samples if one == name and wanted <= set(shown.split(","))
        ]
        return sum(found)

    def hang_disk(self, *, on: bool) -> None:
        """Writes that must reach the disk do not come back, until it is let go again."""
        hung = self.folder / HUNG
        hung.touch() if on else hung.unlink()

    def logs(self) -> str:
        return "\n".join(process.said for process in (self.web, *self.workers))

    def close(self) -> None:
        for process in (self.web, *self.workers):
            process.kill()

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "VAR_DIR": str(self.folder),
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.plan.redis_url,
            "MODELS_DIR": str(self.folder / "no-models"),
            "SECRET_KEY": settings.SECRET_KEY,  # login sessions are signed with it
            "DEBUG": "1",
            "LOG_LEVEL": "INFO",
            "MAX_LIVE_SESSIONS": "1000",
            "PYTHONPATH": str(ROOT),
            "LAB_HEARD": self.plan.heard,
            "LAB_HEARD_AFTER_S": str(self.plan.heard_after_s),
            "LAB_CLOCKS": json.dumps(dict(self.plan.clocks)),
            **self.plan.environment,
        }
