"""The PostgreSQL that tests start: it may be killed and frozen, keeps what was committed, leaves nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pytest_django import DjangoDbBlocker

from apps.accounts.models import Organisation
from tests import postgres as servers
from tests.database import site_database
from tests.ops.site import ROOT, accepts
from tests.postgres import NoPostgres, PostgresServer, binaries, main, postgres


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    try:
        binaries()
    except NoPostgres as exc:
        pytest.skip(str(exc))
    with postgres() as server:
        yield server


def names(server: PostgresServer) -> list[str]:
    with psycopg.connect(server.url(), connect_timeout=30) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM kept ORDER BY name")]


def test_a_killed_server_comes_back_with_what_was_committed(server: PostgresServer) -> None:
    address = server.url()
    server.run("CREATE TABLE kept (name text)", "viva")
    server.run("INSERT INTO kept VALUES ('before')", "viva")
    server.kill()
    assert not accepts(server.port)
    server.start()
    assert server.url() == address
    server.run("INSERT INTO kept VALUES ('between')", "viva")
    server.restart()
    assert names(server) == ["before", "between"]


def test_a_frozen_server_answers_nobody_until_it_is_thawed(server: PostgresServer) -> None:
    with psycopg.connect(server.url(), connect_timeout=30) as connection:
        server.freeze()
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            psycopg.connect(server.url(), connect_timeout=2)
        server.thaw()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_command_gets_a_server_of_its_own_and_nothing_stays(server: PostgresServer) -> None:
    code = "import os, psycopg; url = os.environ['DATABASE_URL']; psycopg.connect(url).close(); "
    code += "print(url.split(':')[-1].split('/')[0]); raise SystemExit(3)"
    done = subprocess.run(
        [sys.executable, "-m", "tests.postgres", sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, "")
    assert not accepts(int(done.stdout))


def test_without_postgresql_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(servers, "BINARIES", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["true"]) == 1
    assert "apt-get install postgresql" in capsys.readouterr().err


def test_each_site_has_rows_of_its_own(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock(), site_database(tmp_path / "one") as one:
        Organisation.objects.create(slug="acme", name="Acme")
        with site_database(tmp_path / "two") as two:
            assert one != two
            assert not Organisation.objects.exists()
        assert Organisation.objects.exists()
