"""Whether the model servers of the settings answer: asked in threads, so that nobody waits for a dead one.

Knows addresses and the key, not what is asked of a model.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings

from apps.ops.engine_settings import speech_model
from inference.config import base_url

State = Literal["answers", "refuses", "silent"]
ASK_S = 1.0
FRESH_S = 10.0


@dataclass(frozen=True, slots=True)
class ServerFound:
    """`url` answers; without one, `why` says what is wrong and what happens meanwhile."""

    url: str = ""
    why: str = ""


class ServerProbe:
    """One process's knowledge of the servers of `<kind>_URLS`, asked again when it is older than FRESH_S.

    `meanwhile` says who does their work while none answers.
    """

    def __init__(self, kind: Literal["ASR", "LLM"], meanwhile: Callable[[], str]) -> None:
        self._kind, self._meanwhile = kind, meanwhile
        self._lock = threading.Lock()
        self._asked_of: tuple[str, ...] = ()
        self._asked_at_s = 0.0
        self._round: list[_Question] = []
        self._answering, self._refused = "", False

    @property
    def urls(self) -> tuple[str, ...]:
        urls: tuple[str, ...] = getattr(settings, f"{self._kind}_URLS")
        return urls

    def found(self, wait_s: float) -> ServerFound:
        """What is known, after at most `wait_s`. Without a URL there is nothing to find."""
        if not self.urls:
            return ServerFound()
        deadline_s = time.monotonic() + wait_s
        questions = self._ask()
        for question in questions:
            question.thread.join(max(0.0, deadline_s - time.monotonic()))
        with self._lock:
            if questions is self._round and all(question.state for question in questions):
                self._answering = _answering(questions)
                self._refused = any(question.state == "refuses" for question in questions)
            return ServerFound(self._answering) if self._answering else ServerFound(why=self._why())

    def _ask(self) -> list[_Question]:
        with self._lock:
            stale = time.monotonic() - self._asked_at_s > FRESH_S and not _waiting(self._round)
            if self._asked_of != self.urls:
                self._answering, self._refused, stale = "", False, True
            if stale:
                self._asked_of, self._asked_at_s = self.urls, time.monotonic()
                api_key = getattr(settings, f"{self._kind}_API_KEY")
                self._round = [_Question(url, api_key) for url in self.urls]
            return self._round

    def _why(self) -> str:
        if self._refused:
            return (
                f"{self._kind}_URLS refuses the key: correct {self._kind}_API_KEY; "
                f"until then {self._meanwhile()}"
            )
        return f"{self._kind}_URLS does not answer yet: {self._meanwhile()} until it does"


@dataclass(slots=True)
class _Question:
    """One GET in a thread of its own: a name lookup knows no timeout."""

    url: str
    api_key: str
    state: State | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._ask, name="server-probe", daemon=True)
        self.thread.start()

    def _ask(self) -> None:
        try:
            status = _status_of_models(self.url, self.api_key)
        except (OSError, http.client.HTTPException, ValueError):
            self.state = "silent"
            return
        refused = status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
        answers = status < HTTPStatus.INTERNAL_SERVER_ERROR
        self.state = "refuses" if refused else "answers" if answers else "silent"


def _status_of_models(url: str, api_key: str) -> int:
    parts = urlsplit(base_url(url))
    connect: Callable[..., http.client.HTTPConnection] = (
        http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    )
    connection = connect(parts.netloc.rsplit("@", 1)[-1], timeout=ASK_S)
    try:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        connection.request("GET", f"{parts.path}/models", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def _waiting(questions: list[_Question]) -> bool:
    return any(question.thread.is_alive() for question in questions)


def _answering(questions: list[_Question]) -> str:
    return next((question.url for question in questions if question.state == "answers"), "")


def _who_hears() -> str:
    return "answers are typed" if speech_model().folder is None else "the model on this disk hears"


llm_probe = ServerProbe("LLM", lambda: "the rules judge")
asr_probe = ServerProbe("ASR", _who_hears)
