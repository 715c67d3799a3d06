"""One connection of the bounded server: what it may send, how slowly, and how little it may read.

Three layers of it: the transport (bytes), the HTTP channel with its requests, the socket one may become.
Knows no application.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from daphne.http_protocol import HTTPFactory, WebRequest
from daphne.ws_protocol import WebSocketProtocol
from twisted.internet import tcp
from twisted.web.http import HTTPChannel

from apps.ops.daphne_frames import plain_binary, text_frame
from apps.ops.metrics import observe

QUEUED_MESSAGES = 64
RESUME_AT = 16
STEPS_A_TURN = 64  # of one socket, before the others get theirs; a small frame is two, a read holds thousands
EARLY_BYTES = 1 << 16  # behind a handshake that is still going on
FRAGMENTS = 64  # of one message; a page sends none
UNSENT_BYTES = 1 << 20  # of a socket
ROOM_BYTES = 1 << 18  # of a response; its application waits beyond it
REQUEST_BYTES = 16 << 20
RETRY_AFTER_S = 5
TOO_LARGE = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
SERVER_CLOSE_CODES = frozenset({1011, 1012, 1013})
_Transport: Any = tcp.Server  # Twisted is typed by halves: its own methods are untyped
_Channel: Any = HTTPChannel
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long each thing may take. All of them are measured with the monotonic clock."""

    first_request_s: float = 12.0  # until a connection's first byte
    keep_alive_s: float = 60.0  # between two requests
    request_s: float = 8.0  # a whole request, and more for a body that comes at `slowest_bytes_s`
    slowest_bytes_s: float = 4096.0
    unread_s: float = 8.0  # bytes wait and the client takes none
    drain_s: float = 10.0
    closing_s: float = 3.0
    exit_s: float = 20.0


class BoundedTransport(_Transport):  # type: ignore[misc]
    """The bytes of one connection: counts those its client leaves unread, and cuts it off."""

    def __init__(self, *parts: Any) -> None:
        self.unsent_limit: int | None = None
        self.cut_for = ""
        self._moved_at = time.monotonic()  # when the client last took something, or nothing waited
        self._room = asyncio.Event()
        self._room.set()
        super().__init__(*parts)

    @property
    def unsent(self) -> int:
        # Twisted's two send buffers; it has no public count of unsent bytes.
        return int(self._tempDataLen + len(self.dataBuffer) - self.offset)

    def unread(self, now: float, limit_s: float) -> bool:
        """Whether the client has taken nothing of what waits for so long."""
        return bool(self.unsent) and now - self._moved_at > limit_s

    async def has_room(self) -> None:
        """Wait until most of what was written is on its way, or the connection is gone."""
        await self._room.wait()

    def cut(self, why: str) -> None:
        """Drop the connection at once."""
        if not self.cut_for:
            self.cut_for = why
            observe(f"connection_cut:{why}", 1)
            self.abortConnection()

    def write(self, data: bytes) -> None:
        if self.cut_for:
            return
        if not self.unsent:
            self._moved_at = time.monotonic()
            data = self._untaken(data)
        if not data:
            return
        super().write(data)
        if self.unsent > ROOM_BYTES:
            self._room.clear()
        if self.unsent_limit is not None and self.unsent > self.unsent_limit:
            logger.warning("a socket left %d bytes unread; cut off", self.unsent)
            self.cut("unsent")

    def writeSequence(self, parts: Iterable[bytes]) -> None:  # noqa: N802 - Twisted's name
        self.write(b"".join(parts))

    def writeSomeData(self, data: bytes) -> int | BaseException:  # noqa: N802
        sent: int | BaseException = super().writeSomeData(data)
        if isinstance(sent, int) and sent > 0:
            self._moved_at = time.monotonic()
        return sent

    def doWrite(self) -> Any:  # noqa: N802
        failed = super().doWrite()
        if self.unsent <= ROOM_BYTES // 2:
            self._room.set()
        return failed

    def _untaken(self, data: bytes) -> bytes:
        """What the network does not take at once: asking it first spares most messages a turn of the loop."""
        if not self.connected or self._writeDisconnected:
            return data
        sent = self.writeSomeData(data)
        return data[sent:] if isinstance(sent, int) else data  # the loop finds out what is wrong

    def connectionLost(self, reason: Any) -> None:  # noqa: N802
        self._room.set()
        super().connectionLost(reason)


class BoundedChannel(_Channel):  # type: ignore[misc]
    """The requests of one connection, each whole within its time."""

    requests_seen = 0
    _since: float | None  # when it began to wait, or the request to come in; None while that is answered
    _received: int

    def connectionMade(self) -> None:  # noqa: N802
        self._begin_waiting()
        super().connectionMade()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self._since is not None:
            if not self._received:
                self._since = time.monotonic()
            self._received += len(data)
            if self._received > REQUEST_BYTES:
                self._refuse_size()
                return
        super().dataReceived(data)

    def allContentReceived(self) -> None:  # noqa: N802
        self._since = None  # what takes time from here on is the application
        self.requests_seen += 1
        super().allContentReceived()

    def requestDone(self, request: Any) -> None:  # noqa: N802
        self._begin_waiting()
        super().requestDone(request)

    def overdue(self, now: float, limits: Limits) -> str:
        """Why the connection must be cut, or nothing."""
        if self._since is None:
            return ""
        waited_s = now - self._since
        if not self._received:
            idle_s = limits.keep_alive_s if self.requests_seen else limits.first_request_s
            return "idle" if waited_s > idle_s else ""
        allowed_s = limits.request_s + self._received / limits.slowest_bytes_s
        return "slow_request" if waited_s > allowed_s else ""

    def _begin_waiting(self) -> None:
        self._since = time.monotonic()
        self._received = 0

    def _refuse_size(self) -> None:
        logger.warning("a request of more than %d bytes was refused", REQUEST_BYTES)
        observe("connection_cut:request_size", 1)
        self._since, self._received = time.monotonic(), 1  # it may still read why, for as long as any request
        self.transport.write(TOO_LARGE)
        self.loseConnection()


class BoundedRequest(WebRequest):  # type: ignore[misc]
    """Answered with 503 while the server takes nobody in, before it can become a socket."""

    def process(self) -> Any:
        why = self.server.turning_away()
        if not why:
            return super().process()
        observe(f"turned_away:{why}", 1)
        self.channel.persistent = False
        headers = [
            (b"Content-Type", b"text/plain; charset=utf-8"),
            (b"Retry-After", str(RETRY_AFTER_S).encode()),
            (b"Connection", b"close"),
        ]
        self.handle_reply({"type": "http.response.start", "status": 503, "headers": headers})
        self.handle_reply({"type": "http.response.body", "body": b"Busy. Try again in a few seconds.\n"})
        return None


class BoundedHTTPFactory(HTTPFactory):  # type: ignore[misc]
    """Makes the channel of each accepted connection; none when even an answer would cost too much."""

    protocol = BoundedChannel
    timeOut = None  # noqa: N815 - the server's sweep watches instead

    def buildProtocol(self, addr: Any) -> BoundedChannel | None:  # noqa: N802
        descriptors = self.server.descriptors
        if descriptors.nearly_none:
            observe("turned_away:unanswered", 1)
            return None
        descriptors.accepted()
        channel: BoundedChannel = super().buildProtocol(addr)
        channel.requestFactory = BoundedRequest
        channel.timeOut = None
        return channel


class BoundedProtocol(WebSocketProtocol):  # type: ignore[misc]
    """One socket. TCP itself slows a fast sender down once we stop reading."""

    data: bytes  # what came in and is not worked on yet; autobahn's
    reading_paused = False  # the consumer is behind
    closing = False
    fragments = 0
    _steps_left = STEPS_A_TURN
    _turn_due = False

    def say(self, text: str) -> None:
        """Send a text message at once; nothing when the socket is no longer open."""
        if self.state == self.STATE_OPEN and not self.closing:
            self.serverSend(text)

    def onConnect(self, request: Any) -> Any:  # noqa: N802 - autobahn's names
        self.transport.unsent_limit = UNSENT_BYTES
        return super().onConnect(request)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        if self.state == self.STATE_CONNECTING and len(self.data) + len(data) > EARLY_BYTES:
            logger.warning("a socket sent %d bytes before it was open; cut off", len(self.data) + len(data))
            self.transport.cut("early")
            return
        if not self._turn_due:
            self._steps_left = STEPS_A_TURN
        self._dataReceived(data)  # what is between formats two names for a log that nobody reads

    def processData(self) -> bool:  # noqa: N802
        """One step into what came in; False for "no more of it for the time being"."""
        if self.reading_paused:
            return False
        if not self._steps_left:
            self.transport.pauseProducing()
            self._take_turn_later()
            return False
        self._steps_left -= 1
        plain = plain_binary(self.data) if self._between_messages else None
        if plain is None:
            return bool(super().processData())
        if plain.end > len(self.data):
            return False  # the rest is on its way
        payload, self.data = plain.payload(self.data), self.data[plain.end :]
        self.onMessage(payload, isBinary=True)
        return bool(self.data)

    @property
    def _between_messages(self) -> bool:
        """Whether the next byte begins a message, and nothing else is waited for."""
        begins = self.current_frame is None and not self.inside_message
        return begins and self.state == self.STATE_OPEN and self.autoPingTimeoutCall is None

    def onMessageBegin(self, isBinary: bool) -> None:  # noqa: N802, N803
        self.fragments = 0
        super().onMessageBegin(isBinary)

    def onMessageFrameBegin(self, length: int) -> None:  # noqa: N802
        self.fragments += 1
        super().onMessageFrameBegin(length)
        if self.failedByMe:
            logger.warning(
                "a socket sent a message of %d bytes or more; cut off", self.message_data_total_length
            )
            observe("connection_cut:message_size", 1)
        elif self.fragments > FRAGMENTS:
            logger.warning("a socket sent a message in more than %d fragments; cut off", FRAGMENTS)
            observe("connection_cut:fragments", 1)
            self._fail_connection(self.CLOSE_STATUS_CODE_POLICY_VIOLATION, "too many fragments")

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803
        if self.closing:  # nobody takes it any more
            return
        super().onMessage(payload, isBinary)
        queue = getattr(self, "application_queue", None)
        if queue is not None and not self.reading_paused and queue.qsize() >= QUEUED_MESSAGES:
            self.reading_paused = True
            self.transport.pauseProducing()

    def message_taken(self) -> None:
        """The consumer took a message off the queue."""
        if self.reading_paused and self.application_queue.qsize() <= RESUME_AT:
            self._read_on()

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802
        if self.state in {
            self.STATE_CLOSING,
            self.STATE_CLOSED,
        }:  # the client left: the consumer hears it next
            return
        plain = self.state == self.STATE_OPEN and not self.send_queue and self._perMessageCompress is None
        if plain and isinstance(content, str):
            self.transport.write(text_frame(content.encode()))
        else:
            super().serverSend(content, binary)

    def serverClose(self, code: int | None = None) -> None:  # noqa: N802
        self.closing = True
        if self.reading_paused:  # the answer to our close frame stands behind what is unread
            self._read_on()
        # autobahn lets an application send 1000 and 3000-4999; 1011 and 1012 are the server's own words.
        if code in SERVER_CLOSE_CODES and self.state == self.STATE_OPEN:
            self.sendCloseFrame(code=code)
        else:
            super().serverClose(code)

    def _read_on(self) -> None:
        self.reading_paused = False
        self._take_turn_later()

    def _take_turn_later(self) -> None:
        if not self._turn_due:
            self._turn_due = True
            self.transport.reactor.callLater(0, self._take_turn)

    def _take_turn(self) -> None:
        self._turn_due, self._steps_left = False, STEPS_A_TURN
        self.consumeData()
        if not self._turn_due and not self.reading_paused and self.transport.connected:
            self.transport.resumeProducing()
