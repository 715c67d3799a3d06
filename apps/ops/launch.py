"""What `runserver` does around the web process: checks, Redis, rows, demo, worker, and its first words.

Runs in the outer process only. The web process (RUN_MAIN=true) is a child like the others.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from apps.ops.database_fault import database_fault
from apps.ops.embedded import (
    EmbeddedRedis,
    StartRefused,
    redis_answers,
    require_free_port,
    require_redis,
    require_writable,
)
from apps.ops.engine_settings import require_speech_model_known, why_no_speech
from apps.ops.server_probe import ASK_S, llm_probe
from apps.ops.supervisor import Child, ChildSpec, Supervisor
from inference.models import ModelUnavailable

WEB_START_S = 60.0
WEB_STOP_S = 22.0  # its own last resort ends it after 20 s; without live sessions it takes a moment
SOURCES = ("apps", "inference", "interview_site")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the web process listens. `host` is as given, without brackets."""

    host: str
    port: int
    ipv6: bool = False

    @property
    def url(self) -> str:
        shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    def accepts(self) -> bool:
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        try:
            with socket.create_connection((host, self.port), timeout=0.2):
                return True
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    address: Address
    worker: bool
    reload: bool


class Launch:
    """One run of the whole site, from checks to the last child's end."""

    def __init__(self, options: LaunchOptions, say: Callable[[str], None]) -> None:
        self.options = options
        self.say = say
        self.supervisor = Supervisor()

    def run(self) -> None:
        """Returns after a signal. Raises StartRefused when it cannot start."""
        self.supervisor.catch_signals()
        try:
            self._start()
            watch = SourceWatch([settings.BASE_DIR / name for name in SOURCES])
            self.supervisor.run(lambda: self._reload_if_changed(watch))
        finally:
            self.supervisor.stop()
        self.say("Stopped.")

    def _start(self) -> None:
        address = self.options.address
        require_writable(settings.VAR_DIR)
        family = socket.AF_INET6 if address.ipv6 else socket.AF_INET
        require_free_port(address.host, address.port, family)
        require_speech_model()
        with self._step("Redis"):
            self._have_redis()
        with self._step("Database"):
            prepare_database()
        with self._step("Demo"):
            password = make_demo()
        with self._step("Web"):
            self.web = self._web()
        if self.options.worker and not self.supervisor.stopping:
            self.supervisor.add(worker_spec(settings.VAR_DIR))
        if not self.supervisor.stopping:
            for line in welcome(address.url, password):
                self.say(line)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.say(f"  {name:<9} ready in {time.monotonic() - started:4.1f} s")

    def _have_redis(self) -> None:
        if settings.REDIS_URL:
            return require_redis(settings.REDIS_URL)
        embedded = EmbeddedRedis.choose()
        child = self.supervisor.add(embedded.spec(settings.VAR_DIR))
        if not self.supervisor.wait_until(lambda: redis_answers(embedded.url, 0.2), child, limit_s=5):
            log = embedded.spec(settings.VAR_DIR).log
            raise StartRefused(f"The embedded Redis did not start; see {log}, or set REDIS_URL to your own.")
        os.environ["REDIS_URL"] = embedded.url
        return None

    def _web(self) -> Child:
        if not settings.DEBUG:
            call_command("collectstatic", interactive=False, verbosity=0)
        argv = (sys.executable, sys.argv[0], "runserver", *child_arguments(self.options.address))
        child = self.supervisor.add(ChildSpec("Web", argv, {"RUN_MAIN": "true"}, stop_s=WEB_STOP_S))
        ready = self.supervisor.wait_until(self.options.address.accepts, child, WEB_START_S)
        if not ready and not self.supervisor.stopping:
            raise StartRefused("The web process did not start; what it said is above.")
        return child

    def _reload_if_changed(self, watch: SourceWatch) -> None:
        if self.options.reload and watch.changed():
            self.say("Source changed: starting the web process again.")
            self.web.restart()


def require_speech_model() -> None:
    """ASR_MODEL names a known model or a folder; whether it is here is another question."""
    try:
        require_speech_model_known()
    except ModelUnavailable as exc:
        raise StartRefused(str(exc)) from exc


def child_arguments(address: Address) -> tuple[str, ...]:
    host = f"[{address.host}]" if address.ipv6 else address.host
    six = ("--ipv6",) if address.ipv6 else ()
    return (f"{host}:{address.port}", *six)


def worker_spec(var_dir: Path) -> ChildSpec:
    """One background process that never takes a core from a live interview."""
    celery = (sys.executable, "-m", "celery", "-A", "interview_site", "worker")
    arguments = ("--queues", "analysis", "--concurrency", "1", "--pool", "prefork", "--loglevel", "WARNING")
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    log = var_dir / "log" / "worker.log"
    return ChildSpec("Worker", (*celery, *arguments), one_thread, log=log, nice=19, stop_s=0.6)


def prepare_database() -> None:
    """Bring SQLite up to date. Another database is its operator's: we only say what to do."""
    if not migrations_missing():
        return
    if connection.vendor != "sqlite":
        require_migrated()
    call_command("migrate", interactive=False, verbosity=0)


def require_migrated() -> None:
    if behind := migrations_missing():
        raise StartRefused(f"The database lacks {behind} migrations. Run: python manage.py migrate")


def migrations_missing() -> int:
    """How many migrations the database is behind. Raises StartRefused when it does not answer."""
    try:
        executor = MigrationExecutor(connection)
        return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except DatabaseError as exc:
        raise StartRefused(database_fault(exc)) from exc


def make_demo() -> str:
    """The recruiter's password if it was made just now, else an empty string."""
    output = StringIO()
    call_command("demo", as_json=True, stdout=output)
    return str(json.loads(output.getvalue())["password"])


def welcome(url: str, password: str) -> list[str]:
    """The last words of a start: where to go, who can sign in, what judges, what is missing."""
    lines = ["", f"Viva is at {url}   (Ctrl-C stops it)", "  Candidates practise there without an account."]
    if password:
        lines.append(
            f"  Recruiters sign in at {url}recruiting/ as recruiter@demo.example, "
            f"password {password} (shown only now)."
        )
    if why_typed := why_no_speech():
        lines.append(f"  Answers are typed, not spoken. {why_typed}")
    return [*lines, _who_judges()]


def _who_judges() -> str:
    if not settings.LLM_URLS:
        return (
            "  Judged by the rules alone. Add an OpenAI-compatible LLM: LLM_URLS=http://HOST:PORT/v1 make run"
        )
    llm = llm_probe.found(ASK_S)
    return f"  {llm.why}." if llm.why else f"  Judged by the LLM at {llm.url}, within the rules."


class SourceWatch:
    """Notices changed files of ours. Django's reloader stats every library's, inside the web process."""

    def __init__(self, roots: list[Path]) -> None:
        self._roots = roots
        self._seen = self._times()

    def changed(self) -> bool:
        before, self._seen = self._seen, self._times()
        return before != self._seen

    def _times(self) -> dict[Path, int]:
        times = {}
        for root in self._roots:
            for source in root.rglob("*.py"):
                try:
                    times[source] = source.stat().st_mtime_ns
                except FileNotFoundError:  # an editor replaced it just now
                    continue
        return times
