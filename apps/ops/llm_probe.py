"""Whether the LLM servers of the settings answer: asked in threads, so that nobody waits for a dead one.

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

from inference.config import base_url

State = Literal["answers", "refuses", "silent"]
ASK_S = 1.0
FRESH_S = 10.0


@dataclass(frozen=True, slots=True)
class LlmFound:
    """`url` answers; without one, `why` says what is wrong and what happens meanwhile."""

    url: str = ""
    why: str = ""


class LlmProbe:
    """One process's knowledge of its LLM servers, asked again when it is older than FRESH_S."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked_of: tuple[str, ...] = ()
        self._asked_at_s = 0.0
        self._round: list[_Question] = []
        self._found = LlmFound(why=_why([]))

    def found(self, wait_s: float) -> LlmFound:
        """What is known, after at most `wait_s`. Without LLM_URLS there is nothing to find."""
        if not settings.LLM_URLS:
            return LlmFound()
        deadline_s = time.monotonic() + wait_s
        questions = self._ask()
        for question in questions:
            question.thread.join(max(0.0, deadline_s - time.monotonic()))
        with self._lock:
            if questions is self._round and all(question.state for question in questions):
                self._found = _found(questions)
            return self._found

    def _ask(self) -> list[_Question]:
        with self._lock:
            stale = time.monotonic() - self._asked_at_s > FRESH_S and not _waiting(self._round)
            if self._asked_of != settings.LLM_URLS:
                self._found, stale = LlmFound(why=_why([])), True
            if stale:
                self._asked_of, self._asked_at_s = settings.LLM_URLS, time.monotonic()
                self._round = [_Question(url, settings.LLM_API_KEY) for url in settings.LLM_URLS]
            return self._round


@dataclass(slots=True)
class _Question:
    """One GET in a thread of its own: a name lookup knows no timeout."""

    url: str
    api_key: str
    state: State | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._ask, name="llm-probe", daemon=True)
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


def _found(questions: list[_Question]) -> LlmFound:
    answering = next((question.url for question in questions if question.state == "answers"), "")
    return (
        LlmFound(answering) if answering else LlmFound(why=_why([question.state for question in questions]))
    )


def _why(states: list[State | None]) -> str:
    if "refuses" in states:
        return "LLM_URLS refuses the key: correct LLM_API_KEY; until then the rules judge"
    return "LLM_URLS does not answer yet: the rules judge until it does"


llm_probe = LlmProbe()
