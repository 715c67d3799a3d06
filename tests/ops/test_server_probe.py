"""Whether the LLM servers answer, as the first words of a start and /readyz say it, over real HTTP."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from apps.ops import server_probe
from apps.ops.launch import welcome
from apps.ops.server_probe import ServerProbe
from tests.ops.site import free_port
from tests.pages.visit import looks_like_a_model

HANG_S = 20.0  # longer than any wait below; the silent server holds a connection for ever


class _Handler(http.server.BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None]]
    status: int

    def do_GET(self) -> None:
        self.seen.append((self.path, self.headers.get("Authorization")))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@contextmanager
def server(status: int = 200, port: int = 0) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    seen: list[tuple[str, str | None]] = []
    handler = type("H", (_Handler,), {"seen": seen, "status": status})
    served = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    thread = threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_address[1]}", seen
    finally:
        served.shutdown()
        served.server_close()
        thread.join()


@pytest.fixture
def silent() -> Iterator[str]:
    """Accepts, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> ServerProbe:
    """A process that has asked nobody yet."""
    probe = ServerProbe("LLM", lambda: "the rules judge")
    for module in ("launch", "readiness"):
        monkeypatch.setattr(f"apps.ops.{module}.llm_probe", probe)
    return probe


def test_a_server_that_answers_is_named(probe: ServerProbe, settings: Settings) -> None:
    with server() as (url, seen):
        settings.LLM_URLS, settings.LLM_API_KEY = (url,), "key"
        assert probe.found(HANG_S).url == url
        assert f"Judged by the LLM at {url}" in welcome("http://here/", "")[-1]
    assert seen == [("/v1/models", "Bearer key")]  # asked once for both


def test_the_first_that_answers_is_the_one(probe: ServerProbe, settings: Settings) -> None:
    with server(404) as (url, _):  # some have no list of models
        settings.LLM_URLS = (f"http://127.0.0.1:{free_port()}", url)
        assert probe.found(HANG_S).url == url


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_no_answer(probe: ServerProbe, settings: Settings, status: int) -> None:
    with server(status) as (url, _):
        settings.LLM_URLS = (url,)
        found = probe.found(HANG_S)
    assert found.url == ""
    assert "LLM_API_KEY" in found.why


def test_a_broken_server_is_no_answer(probe: ServerProbe, settings: Settings) -> None:
    with server(502) as (url, _):
        settings.LLM_URLS = (url,)
        assert "does not answer yet" in probe.found(HANG_S).why


def test_a_start_claims_no_llm_that_is_not_there(probe: ServerProbe, settings: Settings) -> None:
    settings.LLM_URLS = (f"http://127.0.0.1:{free_port()}/v1",)
    last = welcome("http://here/", "")[-1]
    assert last == "  LLM_URLS does not answer yet: the rules judge until it does."


def test_a_silent_server_is_not_waited_for(
    probe: ServerProbe, settings: Settings, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_probe, "ASK_S", HANG_S)
    settings.LLM_URLS = (silent,)
    began_s = time.monotonic()
    assert "does not answer yet" in probe.found(0.2).why
    assert time.monotonic() - began_s < HANG_S / 2


def test_a_server_that_comes_up_later_is_noticed(
    probe: ServerProbe, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    settings.LLM_URLS = (f"http://127.0.0.1:{port}",)
    assert probe.found(HANG_S).why
    monkeypatch.setattr(server_probe, "FRESH_S", 1000.0)
    with server(port=port) as (url, seen):
        assert probe.found(HANG_S).why  # what is known holds for a while: not each request asks
        assert seen == []
        monkeypatch.setattr(server_probe, "FRESH_S", 0.0)
        assert probe.found(HANG_S).url == url


@pytest.mark.django_db
@pytest.mark.parametrize("local", [True, False])
def test_readiness_says_who_hears(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, local: bool
) -> None:
    """Speech servers; else the model on this disk; else nobody."""
    settings.MODELS_DIR = tmp_path
    settings.ASR_MODEL = looks_like_a_model(tmp_path / "model") if local else "base"

    def told() -> tuple[str, str, str]:
        probe = ServerProbe("ASR", server_probe._who_hears)
        monkeypatch.setattr("apps.ops.readiness.asr_probe", probe)
        probe.found(HANG_S)
        answer = client.get("/readyz").json()
        return answer["mode"], answer["speech"], " ".join(answer["missing"])

    with server() as (url, seen):
        settings.ASR_URLS, settings.ASR_API_KEY = (url,), "key"
        assert told()[:2] == ("voice", "servers")
    assert seen == [("/v1/models", "Bearer key")]
    settings.ASR_URLS = (f"http://127.0.0.1:{free_port()}",)
    mode, speech, missing = told()
    assert (mode, speech) == (("voice", "local") if local else ("text", "none"))
    meanwhile = "the model on this disk hears" if local else "answers are typed"
    assert f"speech: ASR_URLS does not answer yet: {meanwhile} until it does" in missing


def test_behind_speech_servers_no_page_says_that_answers_are_typed(
    settings: Settings, tmp_path: Path
) -> None:
    settings.MODELS_DIR = tmp_path
    assert any("typed" in line for line in welcome("http://here/", ""))
    settings.ASR_URLS = ("http://127.0.0.1:1",)
    assert not any("typed" in line for line in welcome("http://here/", ""))


@pytest.mark.django_db
def test_readiness_names_it_and_is_ready_all_the_same(
    probe: ServerProbe, client: Client, settings: Settings, silent: str
) -> None:
    settings.LLM_URLS = (silent,)
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert "llm: LLM_URLS does not answer yet: the rules judge until it does" in answer.json()["missing"]
