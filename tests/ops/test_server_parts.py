"""Parts of the bounded server whose moment no network meets for sure: their clock and wire are scripted."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace

import daphne.server  # noqa: F401 - first: it chooses Twisted's reactor
import pytest
from twisted.internet.protocol import Protocol

from apps.ops.daphne_connections import STEPS_A_TURN, BoundedProtocol, BoundedTransport
from apps.ops.descriptors import Descriptors
from tests.ops.flooded import masked
from tests.ops.scripted_wire import Wire, opened_socket, twisted

PING = 9
FRAMES_A_TURN = STEPS_A_TURN // 2


@pytest.fixture
def opened() -> tuple[BoundedProtocol, Wire]:
    return opened_socket()


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


def test_what_is_written_arrives_in_order_whether_the_network_takes_it_at_once_or_not(
    transport: tuple[BoundedTransport, socket.socket],
) -> None:
    ours, theirs = transport
    theirs.setblocking(False)
    written, read = b"", b""
    for number in range(400):
        part = number.to_bytes(2) * (number * 5)
        written += part
        ours.write(part)
        if number % 50 == 49:  # now and then it reads, and something may go out
            read += theirs.recv(1 << 14)
            ours.doWrite()
    assert ours.unsent
    while ours.unsent:
        read += theirs.recv(1 << 18)
        ours.doWrite()
    with suppress(BlockingIOError):
        while block := theirs.recv(1 << 18):
            read += block
    assert read == written


def test_what_is_written_to_a_client_that_is_gone_is_left_to_the_loop(
    transport: tuple[BoundedTransport, socket.socket],
) -> None:
    ours, theirs = transport
    theirs.close()
    ours.write(b"to nobody")
    assert ours.unsent == len(b"to nobody")
    assert isinstance(ours.doWrite(), Exception)  # by which the loop ends the connection


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
