"""/readyz says whether an interview can be taken, and what is missing in words one can act on."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from apps.ops.embedded import redis_client
from apps.ops.heartbeat import KEY, beat
from tests.ops.site import free_port

pytestmark = pytest.mark.django_db
HANG_S = 10.0  # a Redis that is waited for without a limit costs more


def test_a_process_is_alive_without_asking_for_anything(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_with_redis_worker_and_model_nothing_is_missing(
    client: Client, redis: str, model_dir: Path, settings: Settings
) -> None:
    settings.MODELS_DIR, settings.ASR_MODEL = model_dir.parent, model_dir.name
    beat()
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert answer.json() == {"ready": True, "mode": "voice", "speech": "local", "missing": []}


def test_a_worker_that_stopped_reporting_is_missed(client: Client, redis: str, settings: Settings) -> None:
    with redis_client(settings.CELERY_BROKER_URL, 1) as server:
        server.delete(KEY)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert any(line.startswith("worker:") for line in answer.json()["missing"])


def test_without_a_model_answers_are_typed(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.MODELS_DIR = tmp_path
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["mode"]) == (200, "text")
    assert any("models fetch" in line for line in answer.json()["missing"])


@pytest.mark.parametrize("hangs", [True, False])
def test_a_lost_redis_costs_a_moment_and_degrades(client: Client, settings: Settings, hangs: bool) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1] if hangs else free_port()
        settings.CELERY_BROKER_URL = f"redis://127.0.0.1:{port}/0"
        client.get("/healthz")  # imports and routes are not what is timed
        began = time.monotonic()
        answer = client.get("/readyz")
        assert time.monotonic() - began < HANG_S
    assert answer.status_code == 200
    assert any("REDIS_URL" in line for line in answer.json()["missing"])


def test_tables_behind_the_code_take_no_interview(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'interviews'")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["ready"] is False
    assert any("migrate" in line for line in answer.json()["missing"])


def test_a_var_that_is_gone_takes_no_interview(client: Client, settings: Settings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path / "gone"
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert any("VAR_DIR" in line for line in answer.json()["missing"])
