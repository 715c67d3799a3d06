from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.live.stack import ANSWER, Server, database_file


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    with django_db_blocker.unblock(), database_file(tmp_path_factory.mktemp("rows") / "viva.sqlite3") as path:
        yield path


@pytest.fixture(scope="package")
def server(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One web process for most tests; it hears ANSWER whatever is said."""
    running = Server(tmp_path_factory.mktemp("var"), database, ANSWER, MAX_LIVE_SESSIONS="6").start()
    yield running
    running.stop()
