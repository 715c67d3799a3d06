"""Debian's PostgreSQL on a free port in a folder that goes away with it. Knows nothing of the site.

`python -m tests.postgres COMMAND…` runs a command with DATABASE_URL naming a fresh server's database.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from apps.ops.supervisor import die_with_parent

STARTS_WITHIN_S = 120.0
STOPS_WITHIN_S = 60.0
BINARIES = Path("/usr/lib/postgresql")
# Nobody needs these rows after a power cut. What was committed is in the kernel's hands: kill -9 takes
# none.
HASTE = ("fsync=off", "full_page_writes=off", "shared_buffers=64MB")
LIMITS = ("max_connections=200", "listen_addresses=127.0.0.1", "unix_socket_directories=")


class NoPostgres(Exception):  # noqa: N818 - a verdict, not a bug
    """Why there is no server here, in one line that says what to do."""


class PostgresServer:
    """`start` again after `kill` is the same machine coming back: same port, same rows."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._bin, self._user = folder, binaries(), server_user()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._password = secrets.token_hex(16)
        self.log = folder / "postgres.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._make_cluster()

    def url(self, name: str = "viva") -> str:
        return f"postgres://viva:{self._password}@127.0.0.1:{self.port}/{name}"

    def start(self) -> PostgresServer:
        parent = os.getpid()
        options = [word for one in (*HASTE, *LIMITS, f"port={self.port}") for word in ("-c", one)]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [str(self._bin / "postgres"), "-D", str(self._folder / "data"), *options],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(parent),  # noqa: PLW1509 - as in the supervisor
                **self._user,
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Clients are cut off, rows are kept."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Connections stay open and nothing answers, until `thaw`."""
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)

    def run(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True, connect_timeout=30) as connection:
            connection.execute(statement.encode())

    def _make_cluster(self) -> None:
        secret = self._folder / "password"
        secret.write_text(self._password)
        if self._user:
            shutil.chown(self._folder, self._user["user"], self._user["group"])
            shutil.chown(secret, self._user["user"], self._user["group"])
        initdb = [str(self._bin / "initdb"), "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8"]
        initdb += ["--auth=scram-sha-256", "--username=viva", f"--pwfile={secret}"]
        made = subprocess.run(
            [*initdb, "-D", str(self._folder / "data")],
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=STARTS_WITHIN_S,
            check=False,
            **self._user,
        )
        if made.returncode:
            raise NoPostgres(f"PostgreSQL's initdb failed: {made.stderr.strip()[-300:]}")

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while True:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()[-3000:]
            try:
                return psycopg.connect(self.url("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, self.log.read_text()[-3000:]
                time.sleep(0.05)

    def _end(self, how: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        family = _family(process.pid)
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(STOPS_WITHIN_S)
        finally:
            process.kill()
            process.wait()
            for pid in family:  # they see by themselves that it is gone, unless they are frozen
                _send(pid, signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        assert self.process is not None
        for pid in (self.process.pid, *_family(self.process.pid)):
            _send(pid, number)


def binaries() -> Path:
    """Where the newest `postgres` and `initdb` lie. Raises NoPostgres."""
    found = [path.parent for path in BINARIES.glob("*/bin/postgres") if (path.parent / "initdb").exists()]
    if on_path := shutil.which("postgres"):
        found.append(Path(on_path).resolve().parent)
    if not found:
        raise NoPostgres("No PostgreSQL server here. Install it (Debian: apt-get install postgresql).")
    return max(found, key=lambda folder: [int(digits) for digits in re.findall(r"\d+", str(folder))])


def server_user() -> dict[str, Any]:
    """As whom it runs, for subprocess: PostgreSQL refuses to be root. Raises NoPostgres."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            known = pwd.getpwnam(name)
            return {"user": known.pw_uid, "group": known.pw_gid, "extra_groups": []}
    raise NoPostgres("PostgreSQL refuses to run as root, and there is no user `postgres` here.")


def _family(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """A running server with an empty database `viva`. Raises NoPostgres."""
    folder = Path(tempfile.mkdtemp(prefix="viva-postgres-"))  # not below a folder that only root may enter
    try:
        server = PostgresServer(folder).start()
        try:
            server.run("CREATE DATABASE viva")
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(command: list[str]) -> int:
    try:
        with postgres() as server:
            signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the command's; the server goes after it
            return subprocess.run(
                command, env={**os.environ, "DATABASE_URL": server.url()}, check=False
            ).returncode
    except NoPostgres as exc:
        print(exc, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
