"""A live socket inside the test's own process, so that what it does to the rows can be counted."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.db import connections

from apps.live import rows
from apps.live.engines import EngineRoom
from apps.live.messages import SUBPROTOCOL
from apps.live.routing import websocket_application
from inference.ports import Engines
from tests.live.stack import WITHIN_S, Person

HOST = "testserver"
TYPED_ONLY = Engines(None, None, None, why_text="no speech model in this test")


class Statements:
    """What went to the database, without the begin and end of transactions."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        with self._lock:
            self.seen.append(sql)
        return execute(sql, params, many, context)


@contextmanager
def database_threads(
    monkeypatch: pytest.MonkeyPatch, statements: Statements, *, keep: bool = False
) -> Iterator[None]:
    """Sockets in this process work on the test's database, and each statement is noted.

    `keep`: their connections stay open, as a site's do.
    """
    settings = connections["default"].settings_dict

    def prepare() -> None:
        ours = connections.create_connection("default")
        ours.settings_dict = {**settings, "CONN_MAX_AGE": 0}
        ours.execute_wrappers.append(statements)
        connections["default"] = ours
        (rows.keep_in_this_thread if keep else rows.bound_this_thread)()

    with ThreadPoolExecutor(rows.THREADS, "rows of a test", initializer=prepare) as threads:
        monkeypatch.setattr(rows, "_threads", threads)
        yield


class NearPage:
    """One socket to the application itself, without a server."""

    def __init__(self, person: Person, engines: Engines = TYPED_ONLY) -> None:
        room = EngineRoom(lambda: engines)
        headers = [
            (b"origin", f"http://{HOST}".encode()),
            (b"host", HOST.encode()),
            (b"cookie", person.cookie.encode()),
        ]
        path = f"/ws/interviews/{person.interview.public_id}/"
        application = websocket_application(room=room)
        self._socket = WebsocketCommunicator(application, path, headers, [SUBPROTOCOL])

    async def __aenter__(self) -> NearPage:
        accepted, _ = await self._socket.connect(timeout=WITHIN_S)
        assert accepted
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.disconnect(timeout=WITHIN_S)

    async def hello(self, **fields: Any) -> dict[str, Any]:
        await self.say(type="hello", **fields)
        return await self.until("welcome")

    async def close_code(self) -> int:
        """Read to the end; the code the socket was closed with."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                message = await self._socket.receive_output(timeout=WITHIN_S)
                if message["type"] == "websocket.close":
                    return int(message["code"])

    async def leave_at_once(self) -> None:
        """Connect and be gone before the application has seen either."""
        await self._socket.send_input({"type": "websocket.connect"})
        await self._socket.send_input({"type": "websocket.disconnect", "code": 1006})
        await self._socket.wait(timeout=WITHIN_S)

    async def say(self, **message: Any) -> None:
        await self._socket.send_to(text_data=json.dumps(message))

    async def hears_nothing(self, for_s: float = 0.3) -> bool:
        """Whether the server is silent for so long; a slow one is silent too."""
        return bool(await self._socket.receive_nothing(timeout=for_s))

    async def send(self, frame: bytes) -> None:
        await self._socket.send_to(bytes_data=frame)

    async def until(self, kind: str) -> dict[str, Any]:
        async with asyncio.timeout(WITHIN_S):
            while True:
                message: dict[str, Any] = json.loads(await self._socket.receive_from(timeout=WITHIN_S))
                if message["type"] == kind:
                    return message
