"""`manage.py serve`: the web process alone, and why it does not start."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ops.site import ROOT, START_S, accepts, environment, free_port, manage, one_line, wait_for

PRODUCTION = {"DEBUG": "0", "SECRET_KEY": "k" * 50, "ALLOWED_ORIGINS": "https://viva.example.org"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    var = tmp_path_factory.mktemp("serve") / "var"
    assert manage(var, "migrate").returncode == 0
    return var


@contextmanager
def served(home: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "manage.py", "serve", "--port", str(port)]
    out = subprocess.PIPE
    process = subprocess.Popen(argv, cwd=ROOT, env=environment(home), stdout=out, text=True)
    try:
        wait_for(lambda: accepts(port) or process.poll() is not None, START_S)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_it_serves_alone_and_ends_well(home: Path) -> None:
    port = free_port()
    with served(home, port) as process:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert answer.read() == b"ok\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert process.stdout is not None
        assert f"127.0.0.1 port {port}" in process.stdout.read()


def test_a_database_behind_is_one_line(tmp_path: Path) -> None:
    database = {"DATABASE_URL": f"sqlite:///{tmp_path}/viva.sqlite3"}
    refused = manage(tmp_path / "var", "serve", "--port", str(free_port()), **database)
    assert refused.returncode == 1
    assert "python manage.py migrate" in one_line(refused.stderr)


def test_a_busy_port_is_one_line(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refused = manage(home, "serve", "--port", str(taken.getsockname()[1]))
    assert refused.returncode == 1
    assert "cannot be used" in one_line(refused.stderr)


def test_a_port_that_is_none_exits_2(home: Path) -> None:
    refused = manage(home, "serve", "--port", "70000")
    assert refused.returncode == 2
    assert "65535" in one_line(refused.stderr)


def test_production_needs_its_origins_named(home: Path) -> None:
    refused = manage(home, "serve", **PRODUCTION | {"ALLOWED_ORIGINS": ""})
    assert refused.returncode == 1
    assert "ALLOWED_ORIGINS" in one_line(refused.stderr)


def test_production_needs_its_styles_collected(home: Path) -> None:
    refused = manage(home, "serve", "--port", str(free_port()), **PRODUCTION)
    assert refused.returncode == 1
    assert "python manage.py collectstatic" in one_line(refused.stderr)
