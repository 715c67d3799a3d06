"""Daphne with bounds for a client that sends faster than its consumer reads, or reads slower than it writes.

Daphne's own queue has none: one client and a stalled consumer grew the process from 68 to 531 MB in 1.8 s.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from daphne.server import Server
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import defer

from apps.ops.signals import server_listening, server_stopping

QUEUED_MESSAGES = 64
RESUME_AT = 16
UNSENT_BYTES = 1 << 20
MESSAGE_BYTES = 131_072  # beyond it the connection drops; consumers close over-long ones below it with a code
DRAIN_S = 3.0
SERVER_CLOSE_CODES = frozenset({1011, 1012, 1013})
logger = logging.getLogger(__name__)


class BoundedProtocol(WebSocketProtocol):  # type: ignore[misc]
    """One socket. TCP itself slows a fast sender down once we stop reading."""

    muted: bool
    reading_paused = False

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803 - autobahn's names
        super().onMessage(payload, isBinary)
        queue = getattr(self, "application_queue", None)
        if queue is not None and not self.reading_paused and queue.qsize() >= QUEUED_MESSAGES:
            self.reading_paused = True
            self.transport.pauseProducing()

    def message_taken(self) -> None:
        """The consumer took a message off the queue."""
        if self.reading_paused and self.application_queue.qsize() <= RESUME_AT:
            self.reading_paused = False
            self.transport.resumeProducing()

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802
        # autobahn lets an application send 1000 and 3000-4999; 1011 and 1012 are the server's own words.
        if code in SERVER_CLOSE_CODES and self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=code)
        else:
            super().serverClose(code)

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        # Twisted's two send buffers; it has no public count of unsent bytes.
        unsent = getattr(self.transport, "_tempDataLen", 0) + len(getattr(self.transport, "dataBuffer", b""))
        if unsent <= UNSENT_BYTES:
            super().serverSend(content, binary)
        elif not self.muted:
            self.muted = True
            logger.warning("a socket left %d bytes unread; cut off", unsent)
            self.dropConnection(abort=True)


class BoundedServer(Server):  # type: ignore[misc]
    """Sends `server_listening` once it accepts and waits for `server_stopping` before it drops sockets."""

    def __init__(self, application: Callable[..., Awaitable[None]], **options: Any) -> None:
        super().__init__(_telling_when_read(application), ready_callable=self._bound_sockets, **options)

    def _bound_sockets(self) -> None:
        self.ws_factory.protocol = BoundedProtocol

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        scope["message_taken"] = getattr(protocol, "message_taken", None)
        return super().create_application(protocol, scope)

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        server_listening.send_robust(sender=type(self))

    def kill_all_applications(self) -> Any:
        drained = defer.Deferred.fromFuture(asyncio.ensure_future(_drain()))
        return drained.addBoth(lambda _: super(BoundedServer, self).kill_all_applications())


async def _drain() -> None:
    waits = [answer for _, answer in server_stopping.send_robust(sender=BoundedServer)]
    try:
        async with asyncio.timeout(DRAIN_S):
            await asyncio.gather(*filter(inspect.isawaitable, waits), return_exceptions=True)
    except TimeoutError:
        logger.warning("live sessions were still busy after %.0f s; their sockets are cut", DRAIN_S)


def _telling_when_read(application: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def told(scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        taken = scope.pop("message_taken", None)
        if taken is None:
            return await application(scope, receive, send)

        async def receive_and_tell() -> Any:
            message = await receive()
            taken()
            return message

        return await application(scope, receive_and_tell, send)

    return told
