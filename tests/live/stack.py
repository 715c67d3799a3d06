"""A web process that a test may kill, rows it shares with the test, and a page that speaks the protocol."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from apps.accounts.models import Organisation
from apps.interviews.models import Candidate, Interview, Question, Template
from apps.interviews.services.seats import ticket_issue
from apps.live.frames import encode_frame
from tests.live.wire import raw_frames

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 60.0  # only a fault takes as long
ANSWER = (
    "Last year our checkout service lost orders. "
    "I rewrote the queue consumer and cut lost orders by forty percent."
)


class Server:
    """`start` again after `kill` is the same machine coming back: same port, files and rows."""

    def __init__(self, folder: Path, database: str, *lines: str, **environment: str) -> None:
        self.folder, self.database = folder, database
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._environment = {
            **os.environ,
            "VAR_DIR": str(folder),
            "DATABASE_URL": database,
            "MODELS_DIR": str(folder / "no-models"),
            "LINES": json.dumps(lines),
            "SECRET_KEY": settings.SECRET_KEY,  # login sessions are signed with it
            "REDIS_URL": "redis://127.0.0.1:1",  # nobody listens there: a live interview needs no Redis
            "DEBUG": "1",
            "LOG_LEVEL": "DEBUG",
            "PYTHONPATH": str(ROOT),
            **environment,
        }
        self.log = folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Server:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self._command(),
                cwd=ROOT,
                env=self._environment,
                stdout=out,
                stderr=out,
            )
        try:
            wait_until(self._answers, 60)
        except BaseException:
            self.kill()
            raise
        return self

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "tests.live.server", str(self.port)]

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(20)
            self.process = None

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-3000:]
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def wait_until(true: Callable[[], bool], within_s: float = WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < deadline, f"not true within {within_s} s"
        time.sleep(0.02)


class Person:
    """Somebody with a login session and an interview of their own."""

    def __init__(self, *, questions: int = 2, follow_ups: bool = False, consented: bool = True) -> None:
        self.session = import_module(settings.SESSION_ENGINE).SessionStore()
        self.session["candidate"] = self.token = os.urandom(8).hex()
        self.session.create()
        organisation, _ = Organisation.objects.get_or_create(slug="acme", defaults={"name": "Acme"})
        template = Template.objects.create(
            organisation=organisation,
            slug=self.token,
            title="Practice",
            language="en",
            practice=True,
            follow_ups=follow_ups,
        )
        for position in range(1, questions + 1):
            Question.objects.create(
                template=template,
                position=position,
                text=f"Question {position}: tell me about a time you solved a hard problem.",
                kind="behavioural",
            )
        self.interview = Interview.objects.create(
            organisation=organisation,
            template=template,
            candidate=Candidate.objects.create(organisation=organisation, session_token=self.token),
            language="en",
        )
        if consented:
            self.consent()

    def consent(self) -> None:
        Interview.objects.filter(pk=self.interview.pk).update(notice_version="1", consented_at=timezone.now())

    def ticket(self) -> str:
        return ticket_issue(interview=self.interview, session_token=self.token)

    @property
    def cookie(self) -> str:
        return f"{settings.SESSION_COOKIE_NAME}={self.session.session_key}"


class Page:
    """A live page without a browser. Keeps every message; `messages` in order of arrival."""

    def __init__(self, server: Server, person: Person, **options: Any) -> None:
        self.person = person
        self.messages: list[dict[str, Any]] = []
        self.sent = 0  # seq of the next frame
        port = server.port
        self._open = ExitStack()
        dialled = connect(
            options.get("url", f"ws://127.0.0.1:{port}/ws/interviews/{person.interview.public_id}/"),
            origin=Origin(options.get("origin", f"http://127.0.0.1:{port}")),
            subprotocols=[Subprotocol(options.get("subprotocol", "interview.v1"))],
            additional_headers={"Cookie": options.get("cookie", person.cookie)},
            compression=None,
            max_size=1 << 20,
            open_timeout=WITHIN_S,
            close_timeout=2,
        )
        self.socket: ClientConnection = self._open.enter_context(dialled)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def say(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def hello(self, **fields: Any) -> dict[str, Any]:
        """Say hello, with a fresh ticket unless `fields` has a way in, and return the welcome."""
        if "resume" not in fields:
            fields.setdefault("ticket", self.person.ticket())
        self.say(type="hello", **fields)
        welcome = self.until("welcome")
        self.sent = int(welcome["next"])
        return welcome

    def receive(self, within_s: float = WITHIN_S) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=within_s))
        self.messages.append(message)
        return message

    def until(self, kind: str, within_s: float = WITHIN_S, **fields: Any) -> dict[str, Any]:
        """The next message of this type (and with these fields); others before it are kept."""
        deadline = time.monotonic() + within_s
        while True:
            left_s = deadline - time.monotonic()
            assert left_s > 0, f"no {kind} within {within_s} s: {self.types()[-12:]}"
            message = self.receive(left_s)
            if message["type"] == kind and all(message.get(key) == value for key, value in fields.items()):
                return message

    def stream(self, pcm: bytes, *, answer: int = 1) -> None:
        frames = raw_frames(pcm, answer=answer, first_seq=self.sent)
        for raw in frames:
            self.socket.send(raw)
        self.sent += len(frames)

    def frame(self, pcm: bytes, *, seq: int, answer: int = 1, flags: int = 0) -> None:
        self.socket.send(encode_frame(pcm, answer=answer, seq=seq, capture_us=seq * 100_000, flags=flags))

    def acked(self, upto: int, *, answer: int = 1) -> None:
        """Wait until every frame up to `upto` is acknowledged."""
        while self.until("ack", answer=answer)["upto"] < upto:
            pass

    def end(self, pcm: bytes, *, answer: int = 1) -> None:
        sha256 = hashlib.sha256(pcm).hexdigest()
        self.say(type="end", answer=answer, last_seq=self.sent - 1, sha256=sha256)
        self.sent = 0

    def close_code(self, within_s: float = WITHIN_S) -> int:
        """Read to the end; the code the server closed with."""
        with pytest.raises(ConnectionClosed) as closed:
            self._read_on(within_s)
        assert closed.value.rcvd is not None, "the connection broke without a close frame"
        return closed.value.rcvd.code

    def _read_on(self, within_s: float) -> None:
        while True:
            self.receive(within_s)

    def types(self) -> list[str]:
        return [message["type"] for message in self.messages]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == kind]
