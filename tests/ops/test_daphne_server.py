"""A client that floods, or that never reads, costs the server a bounded amount of memory."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from apps.ops.daphne_connections import EARLY_BYTES, FRAGMENTS, QUEUED_MESSAGES
from apps.ops.daphne_server import MESSAGE_BYTES
from tests.ops.flooded import UPGRADE, Flooded, closed, masked, refused
from tests.ops.site import wait_for

BINARY, CONTINUED, PING = 2, 0, 9


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flooded]:
    with Flooded(tmp_path_factory.mktemp("flooded")) as server:
        yield server


def flood(client: ClientConnection) -> int:
    """Send until it would block; the bytes that went out."""
    for sent in range(0, 120_000_000, 60_000):
        try:
            client.send(bytes(60_000))
        except (TimeoutError, ConnectionClosed):
            return sent
    return 120_000_000


def drained(client: socket.socket) -> int:
    """Read to the connection's end; the bytes that came in."""
    received = 0
    while received < 200_000_000:
        try:
            block = client.recv(1 << 20)
        except ConnectionResetError:
            break
        if not block:
            break
        received += len(block)
    return received


def test_a_flood_against_a_stalled_consumer_is_held_back(server: Flooded) -> None:
    with server.connect("/stalled") as client:
        before_mb = server.memory_mb()
        client.socket.settimeout(1)
        assert flood(client) < 40_000_000  # TCP itself said stop
        assert server.memory_mb() - before_mb < 40
        client.socket.close()


def test_small_messages_by_the_thousand_wait_unread(server: Flooded) -> None:
    with server.upgraded("/stalled") as client:
        client.sendall(masked(b"a", opcode=BINARY) * 9_000)  # as much as one read from the network may hold
        wait_for(lambda: server.queued() >= QUEUED_MESSAGES, 60)
        assert server.queued() == QUEUED_MESSAGES


def test_bytes_behind_a_handshake_that_is_undecided_are_bounded(server: Flooded) -> None:
    before = server.events("connection_cut:early")
    with server.dial() as client:
        client.sendall(UPGRADE % b"/undecided")
        wait_for(lambda: server.events("request:undecided"), 60)
        assert refused(client, bytes(EARLY_BYTES))
    assert server.events("connection_cut:early") == before + 1


def test_a_slow_consumer_gets_every_message_in_the_end(server: Flooded) -> None:
    with server.connect("/echo") as client:
        for number in range(500):
            client.send(bytes(1000 + number))
        assert [client.recv(timeout=60) for _ in range(500)] == [str(1000 + number) for number in range(500)]


def test_a_client_that_never_reads_is_cut_off(server: Flooded) -> None:
    before = server.events("connection_cut:unsent")
    with server.dial() as client:
        client.sendall(UPGRADE % b"/chatty")
        before_mb = server.memory_mb()
        wait_for(lambda: server.events("connection_cut:unsent") > before, 60)
        assert server.memory_mb() - before_mb < 60
        assert drained(client) < 50_000_000


def test_pings_whose_answers_nobody_reads_are_bounded_too(server: Flooded) -> None:
    before, before_mb = server.events("connection_cut:unsent"), server.memory_mb()
    with server.upgraded("/stalled") as client:
        assert refused(client, masked(bytes(125), opcode=PING) * 100)
    assert server.events("connection_cut:unsent") > before
    assert server.memory_mb() - before_mb < 40


def test_a_message_over_the_limit_closes_the_socket(server: Flooded) -> None:
    with server.connect("/echo") as client:
        client.send(bytes(MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed) as ended:
            client.recv(timeout=60)
        assert ended.value.rcvd is None or ended.value.rcvd.code == 1009


def test_a_length_that_cannot_be_true_costs_nothing(server: Flooded) -> None:
    before, before_mb = server.events("connection_cut:message_size"), server.memory_mb()
    with server.upgraded("/echo") as client:
        client.sendall(bytes([0x82, 0xFF]) + (1 << 62).to_bytes(8, "big") + bytes(4))
        closed(client)
    assert server.events("connection_cut:message_size") == before + 1
    assert server.memory_mb() - before_mb < 8


def fragments(count: int) -> bytes:
    first = masked(b"a", opcode=BINARY, last=False)
    middle = masked(b"a", opcode=CONTINUED, last=False)
    return first + middle * (count - 2) + masked(b"a", opcode=CONTINUED)


def test_a_message_in_2000_fragments_is_cut_off(server: Flooded) -> None:
    before, left = server.events("connection_cut:fragments"), server.gone("echo")
    with server.upgraded("/echo") as client:
        client.sendall(fragments(2_000))
        closed(client)
    assert server.events("connection_cut:fragments") == before + 1
    wait_for(lambda: server.gone("echo") == left + 1, 60)  # its application was told


def test_a_message_in_as_many_fragments_as_allowed_arrives_whole(server: Flooded) -> None:
    with server.upgraded("/echo") as client:
        for _ in range(2):  # counted anew for each message
            client.sendall(fragments(FRAGMENTS))
            assert client.recv(100) == b"\x81\x02%d" % FRAGMENTS


def test_the_consumer_of_a_client_that_was_cut_off_is_told(server: Flooded) -> None:
    left = server.gone("echo")
    with server.upgraded("/echo") as client:
        assert refused(client, masked(b"a", opcode=BINARY) + masked(bytes(125), opcode=PING) * 200)
    wait_for(lambda: server.gone("echo") == left + 1, 60)


def test_the_server_is_still_there_after_all_that(server: Flooded) -> None:
    assert server.process.poll() is None
    assert "Traceback" not in server.said
