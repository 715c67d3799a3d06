"""`manage.py runserver` brings the whole site up, keeps it up, and takes all of it down."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ops.site import Site, accepts, alive, manage, one_line, wait_for

PASSWORD = re.compile(r"recruiter@demo\.example, password (\S+)")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site") / "var"


@pytest.fixture(scope="module")
def site(home: Path) -> Iterator[Site]:
    with Site(home, "--noreload") as site:
        yield site.started()


def test_a_first_start_makes_everything_and_says_where_to_go(site: Site) -> None:
    assert f"http://127.0.0.1:{site.port}/" in site.said
    assert PASSWORD.search(site.said)
    assert "LLM_URLS=http" in site.said.splitlines()[-1]
    assert site.get("/healthz") == (200, "ok\n")
    assert site.get("/readyz")[0] == 200


def test_the_worker_reports_and_runs_behind_everything_else(site: Site) -> None:
    wait_for(lambda: not any("worker" in line for line in site.missing()), 90)

    def workers() -> list[int]:
        return [pid for pid, line in site.family().items() if "celery" in line]

    wait_for(lambda: len(workers()) == 2, 60)  # the worker and its one pool process
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in workers()} == {19}


@pytest.mark.parametrize("name", ["valkey-server", "runserver", "celery"])
def test_a_killed_child_is_started_again(site: Site, name: str) -> None:
    victim = next(pid for pid, line in site.family().items() if name in line)
    os.kill(victim, signal.SIGKILL)

    def replaced() -> bool:
        return any(name in line and pid != victim for pid, line in site.family().items())

    wait_for(replaced, 60)
    wait_for(lambda: accepts(site.port), 60)
    assert site.get("/readyz")[0] == 200
    assert re.search(r"ended \(-9\); starting again", site.said)


def test_a_second_start_keeps_the_recruiter_and_tells_no_password(site: Site, home: Path) -> None:
    with Site(home, "--noreload", "--no-worker") as again:
        again.started()
        assert not PASSWORD.search(again.said)
        assert not any("celery" in line for line in again.family().values())


def test_a_busy_port_is_one_line(site: Site, home: Path) -> None:
    refused = manage(home, "runserver", "--noreload", str(site.port))
    assert refused.returncode == 1
    assert f"PORT={site.port + 1}" in one_line(refused.stderr)
    assert refused.stdout == ""


def test_after_kill_9_nothing_survives(tmp_path: Path) -> None:
    with Site(tmp_path / "var") as site:
        site.started()
        wait_for(lambda: sum("celery" in line for line in site.family().values()) == 2, 90)
        wait_for(lambda: not any("worker" in line for line in site.missing()), 90)
        family = site.family()
        assert len(family) >= 4
    try:
        wait_for(lambda: not any(alive(pid) for pid in family), 30)
    finally:
        for pid in filter(alive, family):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    with Site(tmp_path / "var") as site:
        family = site.started().family()
        assert site.stop(number) == 0
    assert site.said.splitlines()[-1] == "Stopped."
    assert not any(alive(pid) for pid in family)


def test_a_real_redis_is_used_and_none_embedded(tmp_path: Path, redis_url: str) -> None:
    with Site(tmp_path / "var", "--noreload", "--no-worker", REDIS_URL=redis_url) as site:
        site.started()
        assert not any("valkey" in line for line in site.family().values())
        assert not any(line.startswith("redis") for line in site.missing())
