"""Parts of the bounded server whose moment no network meets for sure: their clock and wire are scripted."""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import daphne.server  # noqa: F401 - first: it chooses Twisted's reactor
import pytest
from daphne.ws_protocol import WebSocketFactory
from twisted.internet import testing
from twisted.internet.protocol import Protocol

from apps.ops.daphne_connections import STEPS_A_TURN, BoundedProtocol, BoundedTransport
from apps.ops.descriptors import Descriptors
from tests.ops.flooded import UPGRADE, masked

twisted: Any = testing  # typed by halves
PING, PONG = 9, b"\x8a\x00"
FRAMES_A_TURN = STEPS_A_TURN // 2


class Turns:
    """A reactor whose loop goes round when told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def callLater(self, _delay_s: float, call: Callable[[], None]) -> None:  # noqa: N802 - Twisted's name
        self.waiting.append(call)

    def go_round(self) -> None:
        due, self.waiting = self.waiting, []
        for call in due:
            call()


class Wire(twisted.StringTransport):  # type: ignore[misc]
    reactor: Turns

    def pongs(self) -> int:
        return int(self.value().count(PONG))


@pytest.fixture
def opened() -> tuple[BoundedProtocol, Wire]:
    """A socket that its application accepted."""
    server = SimpleNamespace(
        root_path="",
        proxy_forwarded_address_header=None,
        protocol_connected=lambda protocol: None,
        create_application=lambda protocol, scope: asyncio.Queue(),
        log_action=lambda *action: None,
    )
    wire = Wire()
    wire.reactor = Turns()
    protocol = BoundedProtocol()
    protocol.factory = WebSocketFactory(server)
    protocol._raw_query_string = b""
    protocol.makeConnection(wire)
    protocol.dataReceived(UPGRADE % b"/")
    protocol.serverAccept()
    return protocol, wire


def test_a_block_of_many_frames_is_taken_in_turns(opened: tuple[BoundedProtocol, Wire]) -> None:
    protocol, wire = opened
    protocol.dataReceived(masked(b"", opcode=PING) * (2 * FRAMES_A_TURN + 1))
    seen = [(wire.pongs(), wire.producerState)]
    for _ in range(3):
        wire.reactor.go_round()
        seen.append((wire.pongs(), wire.producerState))
    assert seen[0] == (FRAMES_A_TURN, "paused")
    assert seen[1] == (2 * FRAMES_A_TURN, "paused")
    assert seen[2] == (2 * FRAMES_A_TURN + 1, "producing")
    assert seen[3] == seen[2]


def test_each_read_begins_a_turn(opened: tuple[BoundedProtocol, Wire]) -> None:
    protocol, wire = opened
    for _ in range(3):
        protocol.dataReceived(masked(b"", opcode=PING) * (FRAMES_A_TURN - 1))
    assert wire.pongs() == 3 * (FRAMES_A_TURN - 1)
    assert wire.producerState == "producing"


@pytest.fixture
def transport() -> Iterator[tuple[BoundedTransport, socket.socket]]:
    """Our side of a connection whose other side takes in little without being read."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    port = SimpleNamespace(_realPortNumber=0)
    connected = BoundedTransport(ours, Protocol(), ("127.0.0.1", 1), port, 1, twisted.MemoryReactorClock())
    yield connected, theirs
    ours.close()
    theirs.close()


def filled(transport: BoundedTransport) -> None:
    """The network takes no more; nothing waits on our side yet."""
    try:
        while True:
            transport.socket.send(bytes(65_536))
    except BlockingIOError:
        return


def test_a_reader_is_late_only_from_when_something_waits(
    transport: tuple[BoundedTransport, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = transport
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    filled(ours)
    now = 2_000.0
    assert not ours.unread(now, limit_s=8)
    ours.write(b"a")
    ours.doWrite()
    assert not ours.unread(now, limit_s=8)
    ours.write(bytes(1 << 23))
    assert not ours.unread(now + 8, limit_s=8)
    assert ours.unread(now + 9, limit_s=8)
    now += 9
    theirs.recv(1 << 20)
    ours.doWrite()
    assert ours.unsent
    assert not ours.unread(now, limit_s=8)  # it took something


def test_connections_accepted_at_once_count_before_descriptors_are_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 4_096), hard))
    try:
        descriptors = Descriptors()
        assert not descriptors.few
        for _ in range(4_096):
            descriptors.accepted()
        assert descriptors.few
        assert descriptors.nearly_none
        now += 1
        assert not descriptors.few
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
