"""Daphne with bounds: on memory, on time, on descriptors, and on how long it takes to stop.

Daphne's own queue has none: one client and a stalled consumer grew the process from 68 to 531 MB in 1.8 s.
Its clocks are the wall's, so that a step of the machine's clock closes sockets; here they are monotonic.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import autobahn.websocket.protocol
import daphne.http_protocol
import daphne.server
import daphne.ws_protocol
from daphne.server import Server
from twisted.internet import defer
from twisted.internet import reactor as _reactor

from apps.ops.daphne_connections import (
    BoundedChannel,
    BoundedHTTPFactory,
    BoundedProtocol,
    BoundedTransport,
    Limits,
)
from apps.ops.descriptors import Descriptors
from apps.ops.garbage import collect_rarely
from apps.ops.last_resort import exit_within
from apps.ops.signals import tell_listening, tell_stopping

MESSAGE_BYTES = 131_072  # beyond it the connection drops; consumers close over-long ones below it with a code
HANDSHAKE_S = 10  # until an application accepts or refuses a socket
SWEEP_S = 1.0
CLOSING_STEP_S = 0.02
RESTART = 1012
# Twisted's own is 50: of 500 pages that come back at once the rest is dropped, and their systems try again
# after 1, 3, 7, 15 s. The kernel's own limit (net.core.somaxconn, 4096) stands above it.
BACKLOG = 1024
Application = Callable[..., Awaitable[None]]
reactor = cast(Any, _reactor)
logger = logging.getLogger(__name__)


def _use_monotonic_clock() -> None:
    reactor.seconds = time.monotonic
    clock = SimpleNamespace(time=time.monotonic)
    for module in (daphne.server, daphne.http_protocol, daphne.ws_protocol):
        module.time = clock  # all they use it for is how long something took


def _format_no_logs() -> None:
    """Of each connection autobahn formats sixty settings for a log at a level that nobody reads."""
    cast(Any, autobahn.websocket.protocol).pformat = lambda _settings: ""


class BoundedServer(Server):  # type: ignore[misc]
    """One web process: listens, watches each connection, and stops in order."""

    def __init__(self, application: Application, limits: Limits | None = None, **options: Any) -> None:
        _use_monotonic_clock()
        _format_no_logs()
        self.limits = limits or Limits()
        self.descriptors = Descriptors()
        options["endpoints"] = [f"{one}:backlog={BACKLOG}" for one in options.get("endpoints", ())]
        self.transports: weakref.WeakSet[BoundedTransport] = weakref.WeakSet()
        self.failed_to_listen = ""
        self._ports: list[Any] = []
        self._stopping = False
        self._short = False
        options.setdefault("websocket_max_message_size", MESSAGE_BYTES)
        options.setdefault("websocket_max_frame_size", MESSAGE_BYTES)
        options.setdefault("websocket_connect_timeout", HANDSHAKE_S)
        options.setdefault("application_close_timeout", 5)
        super().__init__(_telling_when_read(application), ready_callable=self._prepare, **options)

    def run(self) -> None:
        collect_rarely()
        super().run()

    def turning_away(self) -> str:
        """Why nobody new is let in just now, or nothing."""
        if self._stopping:
            return "stopping"
        return "descriptors" if self._short_of_descriptors() else ""

    def create_application(self, protocol: Any, scope: dict[str, Any]) -> Any:
        scope["message_taken"] = getattr(protocol, "message_taken", None)
        if isinstance(protocol, BoundedProtocol):
            scope["direct"] = protocol
        return super().create_application(protocol, scope)

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        channel = getattr(protocol, "channel", None)
        await super().handle_reply(protocol, message)
        if channel is not None and message.get("more_body"):
            await channel.transport.has_room()

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        factory = BoundedHTTPFactory(self)
        factory.doStart()
        port.factory, port.transport = factory, self._transport
        self._ports.append(port)
        reactor.callLater(0, tell_listening)  # the loop runs by then

    def listen_error(self, failure: Any) -> None:
        self.failed_to_listen = failure.getErrorMessage()
        super().listen_error(failure)

    def timeout_checker(self) -> None:
        """The sweep over all connections, once a second."""
        reactor.callLater(SWEEP_S, self.timeout_checker)
        self._short_of_descriptors()
        now = time.monotonic()
        cut = Counter(why for transport in list(self.transports) if (why := self._swept(transport, now)))
        for why, connections in cut.items():
            logger.warning("%d connections cut: %s", connections, why)
        for protocol in list(self.connections):
            self._check(protocol)

    def kill_all_applications(self) -> Any:
        """Called before the reactor stops; it waits for the answer."""
        return defer.Deferred.fromFuture(asyncio.ensure_future(self._stop_in_order()))

    def _prepare(self) -> None:
        self.ws_factory.protocol = BoundedProtocol
        self.ws_factory.setProtocolOptions(closeHandshakeTimeout=self.limits.closing_s)
        if self.signal_handlers:
            reactor.callWhenRunning(self._catch_signals)

    def _catch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._told_to_stop)

    def _told_to_stop(self, _number: int, _frame: object) -> None:
        if not self._stopping:
            self._stopping = True
            exit_within(self.limits.exit_s)
            reactor.callFromThread(self.stop)

    def _transport(self, *parts: Any) -> BoundedTransport:
        transport = BoundedTransport(*parts)
        self.transports.add(transport)
        return transport

    def _swept(self, transport: BoundedTransport, now: float) -> str:
        if not transport.connected or transport.cut_for:
            return ""
        why = "unread" if transport.unread(now, self.limits.unread_s) else ""
        if not why and isinstance(transport.protocol, BoundedChannel):
            why = transport.protocol.overdue(now, self.limits)
        if why:
            transport.cut(why)
        return why

    def _check(self, protocol: Any) -> None:
        try:
            protocol.check_timeouts()
        except Exception:
            # Daphne's loop over all connections would end here, for good.
            logger.exception("a connection could not be checked; cut off")
            transport = getattr(protocol, "transport", None)
            if transport is not None:
                transport.abortConnection()

    def _short_of_descriptors(self) -> bool:
        if self.descriptors.few != self._short:
            self._short = not self._short
            state = "few are left, nobody new is let in" if self._short else "there are enough again"
            logger.warning("file descriptors: %s", state)
        return self._short

    async def _stop_in_order(self) -> None:
        for port in self._ports:
            port.stopListening()
        await asyncio.gather(tell_stopping(self.limits.drain_s), self._answer_requests())
        await self._close_sockets()
        await self._end_applications()

    async def _answer_requests(self) -> None:
        running = self._running()
        requests = [running[protocol] for protocol in running if not isinstance(protocol, BoundedProtocol)]
        if requests:
            _, late = await asyncio.wait(requests, timeout=self.limits.drain_s)
            if late:
                logger.warning("%d requests had no answer after %.0f s", len(late), self.limits.drain_s)

    async def _close_sockets(self) -> None:
        """A close frame for each socket left; a moment for the other side's answer and for what is unsent."""
        for protocol in self._sockets():
            if protocol.state == protocol.STATE_OPEN:
                protocol.serverClose(RESTART)
        for _ in range(int(self.limits.closing_s / CLOSING_STEP_S)):
            if not self._sockets() and not any(transport.unsent for transport in self.transports):
                break
            await asyncio.sleep(CLOSING_STEP_S)

    async def _end_applications(self) -> None:
        running = list(self._running().values())
        for application in running:
            application.cancel()
        if running:
            logger.info("%d applications were still running and are cancelled", len(running))
            await asyncio.wait(running, timeout=self.limits.closing_s)

    def _running(self) -> dict[Any, asyncio.Future[None]]:
        found = {protocol: of.get("application_instance") for protocol, of in self.connections.items()}
        return {protocol: future for protocol, future in found.items() if future and not future.done()}

    def _sockets(self) -> list[BoundedProtocol]:
        return [
            protocol
            for protocol, of in self.connections.items()
            if isinstance(protocol, BoundedProtocol) and "disconnected" not in of
        ]


def _telling_when_read(application: Application) -> Application:
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
