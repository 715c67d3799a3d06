from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker, Settings

from apps.live import process
from tests.database import site_database
from tests.live.here import HOST, Statements, database_threads
from tests.live.stack import ANSWER, Server


@pytest.fixture(scope="package")
def database(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The URL of rows that this process and its servers share."""
    with django_db_blocker.unblock(), site_database(tmp_path_factory.mktemp("rows")) as url:
        yield url


@pytest.fixture(scope="package")
def server(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One web process for most tests; it hears ANSWER whatever is said."""
    running = Server(tmp_path_factory.mktemp("var"), database, ANSWER, MAX_LIVE_SESSIONS="6").start()
    yield running
    running.stop()


@pytest.fixture
def statements(database: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Statements]:
    """What sockets inside this process ask of the rows, each by itself: no loops run over all of them."""
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    settings.ALLOWED_ORIGINS = (f"http://{HOST}",)
    monkeypatch.setattr(process, "begin", lambda: None)
    noted = Statements()
    with database_threads(monkeypatch, noted):
        yield noted
