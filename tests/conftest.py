"""What every test stands on: a folder of its own, nobody's own settings, real services on demand."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker, Settings

from apps.ops.embedded import EmbeddedRedis, redis_answers
from apps.ops.supervisor import Child
from inference.models import ModelUnavailable, fetch
from tests.database import on_postgres
from tests.environment import NOT_OURS

# A busy machine fails no property: neither its examples nor making them up has a time limit.
hypothesis.settings.register_profile(
    "unhurried",
    parent=hypothesis.settings(),
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")
ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is about SQLite's file alone is left out on PostgreSQL."""
    if on_postgres():
        for item in items:
            if item.get_closest_marker("sqlite_only"):
                item.add_marker(pytest.mark.skip("about SQLite's own file"))


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A thread that ended with its connection open does not keep PostgreSQL from dropping the test's rows."""
    yield
    if on_postgres():
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture(autouse=True)
def var_dir(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own VAR_DIR; MODELS_DIR stays, a model is too large to fetch for each."""
    var = tmp_path / "var"
    settings.VAR_DIR = var
    for name, folder in (("MEDIA_ROOT", "media"), ("SPOOL_DIR", "spool"), ("STATIC_ROOT", "static")):
        (var / folder).mkdir(parents=True)
        setattr(settings, name, var / folder)
    for name in NOT_OURS:
        monkeypatch.delenv(name, raising=False)
    settings.LLM_URLS = settings.ASR_URLS = ()
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # others are slow
    return var


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real, empty Redis on a free port, for the whole run."""
    embedded = EmbeddedRedis.choose()
    server = Child(embedded.spec(tmp_path_factory.mktemp("redis")))
    server.start()
    deadline = time.monotonic() + 60
    while not redis_answers(embedded.url, 0.2):
        assert time.monotonic() < deadline, "Redis did not start"
        time.sleep(0.02)
    yield embedded.url
    server.stop()


@pytest.fixture
def redis(redis_url: str, settings: Settings) -> str:
    """The site's channel layer and broker on the real Redis."""
    settings.REDIS_URL = redis_url
    settings.CELERY_BROKER_URL = redis_url + "/0"
    host = {"address": redis_url + "/1", "socket_timeout": None}
    backend = "channels_redis.core.RedisChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": backend, "CONFIG": {"hosts": [host]}}}
    return redis_url


@pytest.fixture(scope="session")
def model_dir() -> Path:
    """The real base model. Skips where it can't be had."""
    from django.conf import settings

    try:
        return fetch("base", settings.MODELS_DIR)
    except ModelUnavailable as exc:
        pytest.skip(str(exc))


@pytest.fixture(scope="session")
def spoken() -> Path:
    """The folder of made speech that comes with the repository."""
    return ROOT / "tests" / "audio" / "spoken"


@pytest.fixture(scope="session")
def recorded() -> Path:
    """The folder of people's recordings, which lies beside some checkouts only."""
    folder = ROOT.parent / "shared" / "audio" / "recorded"
    if not folder.is_dir():
        pytest.skip("no recordings beside this checkout")
    return folder
