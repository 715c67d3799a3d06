"""A visitor of the site: through Django's client, or a real browser before a real server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from django.conf import settings
from django.test import Client

from apps.interviews.models import Interview, Template
from apps.ops.engine_settings import speech_model
from apps.privacy.notice import notice_for
from tests.database import site_environment

MODEL_FILES = ("model.bin", "config.json", "tokenizer.json")
ROOT = Path(__file__).resolve().parents[2]
SERVED_WITHIN_S = 90


def looks_like_a_model(folder: Path) -> str:
    """A folder that pages take for a speech model, so that they offer the microphone. It hears nothing."""
    folder.mkdir(parents=True)
    for name in MODEL_FILES:
        (folder / name).touch()
    return str(folder)


def choose(client: Client, template: Template) -> Interview:
    """Pick an interview on the landing page."""
    response = client.post(f"/practice/{template.public_id}/")
    assert response.status_code == 302
    return Interview.objects.get(public_id=response["Location"].split("/")[2])


def consent_to(client: Client, template: Template) -> Interview:
    interview = choose(client, template)
    body = {"agree": "yes", "notice_version": notice_for("en").version}
    response = client.post(f"/interviews/{interview.public_id}/notice/", body)
    assert response.status_code == 302
    interview.refresh_from_db()
    return interview


class Site:
    """The whole site as `runserver` brings it up, with its own database, Redis and worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        unset = {"REDIS_URL", "DATABASE_URL", "LLM_URLS", "LLM_MODEL", "ALLOWED_ORIGINS", "RUN_MAIN"}
        self._env = {name: value for name, value in os.environ.items() if name not in unset}
        if speech_model().folder is None:
            self._env["ASR_MODEL"] = looks_like_a_model(folder / "deaf")
        self._env |= {"VAR_DIR": str(folder), "MODELS_DIR": str(settings.MODELS_DIR), "DEBUG": "1"}
        self._env |= site_environment(folder)
        self._server: subprocess.Popen[bytes] | None = None

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        done = subprocess.run(command, env=self._env, check=True, capture_output=True, text=True, timeout=120)
        return done.stdout

    def start(self) -> None:
        log = self.folder / "server.log"
        command = ["runserver", "--noreload", f"127.0.0.1:{self.port}"]
        with log.open("a") as out:
            self._server = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), *command], env=self._env, stdout=out, stderr=out
            )
        wait_until_served(self.address + "/readyz", log, self._server)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        assert self._server is not None
        assert self._server.poll() is None, (self.folder / "server.log").read_text()[-4000:]
        self._server.send_signal(how)
        self._server.wait(timeout=60)


@pytest.fixture(scope="session")
def site_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    served = Site(tmp_path_factory.mktemp("site"))
    served.manage("migrate", "-v", "0")
    served.manage("demo")
    served.start()
    yield served
    served.stop()


@pytest.fixture(scope="session")
def site(site_server: Site) -> str:
    return site_server.address


def wait_until_served(url: str, log: Path, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SERVED_WITHIN_S
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urlopen(url, timeout=2) as response:
                if response.status == 200:
                    return
        except (URLError, OSError):
            pass
        time.sleep(0.25)
    pytest.fail(f"{url} not served within {SERVED_WITHIN_S} s:\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
