"""A client that takes its time holds a connection no longer than the limits say, and nobody else notices.

The server runs under limits of a second or two; what is waited for here has a minute.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from apps.ops.daphne_connections import REQUEST_BYTES
from tests.ops.flooded import STREAMED_BYTES, Flooded, closed
from tests.ops.site import wait_for

HEAD = b"POST /count HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flooded]:
    folder = tmp_path_factory.mktemp("slow")
    with Flooded(folder, first_request_s=5.0, keep_alive_s=5.0, request_s=2.0, unread_s=2.0) as server:
        yield server


def drip(client: socket.socket, head: bytes) -> None:
    """A byte now and then, for as long as the other side stands it."""
    client.sendall(head)
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at:
        time.sleep(0.1)
        try:
            client.sendall(b"x")
        except ConnectionError:
            return
    raise AssertionError("a slow client was never cut off")


def test_idle_connections_are_cut_and_an_open_socket_goes_on(server: Flooded) -> None:
    before = server.events("connection_cut:idle")
    with server.connect("/echo") as live, ExitStack() as idle:
        clients = [idle.enter_context(server.dial()) for _ in range(300)]
        wait_for(lambda: server.events("connection_cut:idle") >= before + 300, 60)
        assert {closed(client) for client in clients} == {b""}
        live.send(b"abc")
        assert live.recv(timeout=60) == "3"
    assert "connections cut: idle" in server.said


@pytest.mark.parametrize(
    "head",
    [b"GET /state HTTP/1.1\r\nX-Slow: ", HEAD + b"Content-Length: 1000000\r\n\r\n"],
    ids=["header", "body"],
)
def test_a_request_that_drips_in_is_cut(server: Flooded, head: bytes) -> None:
    before = server.events("connection_cut:slow_request")
    with server.dial() as client:
        drip(client, head)
    assert server.events("connection_cut:slow_request") == before + 1


def test_a_body_that_comes_slowly_but_steadily_is_taken(server: Flooded) -> None:
    with server.dial() as client:
        client.sendall(HEAD + b"Connection: close\r\nContent-Length: 200000\r\n\r\n")
        for _ in range(40):  # twice the time a request has that sends nothing
            client.sendall(bytes(5_000))
            time.sleep(0.1)
        assert closed(client).endswith(b"200000")


def test_a_request_has_its_own_time_however_long_the_connection_waited(tmp_path: Path) -> None:
    with Flooded(tmp_path, first_request_s=60.0, request_s=4.0) as patient, patient.dial() as client:
        time.sleep(5)
        client.sendall(HEAD)
        time.sleep(1.5)  # longer than the pause between two sweeps
        client.sendall(b"Connection: close\r\nContent-Length: 3\r\n\r\nabc")
        assert closed(client).endswith(b"3")


def test_a_connection_is_kept_between_requests_but_not_for_long(server: Flooded) -> None:
    with server.dial() as client:
        for _ in range(2):
            client.sendall(HEAD + b"Content-Length: 3\r\n\r\nabc")
            answer = b""
            while not answer.endswith(b"\r\n\r\n3"):
                answer += client.recv(4096)
        assert closed(client) == b""


def test_a_client_that_does_not_read_its_answer_is_cut(server: Flooded) -> None:
    before, before_mb = server.events("connection_cut:unread"), server.memory_mb()
    left = server.gone("stream")
    with server.dial(takes_bytes=8_192) as client:
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: server.events("connection_cut:unread") == before + 1, 60)
        wait_for(lambda: server.gone("stream") > left, 60)  # its application does not wait for ever
        assert len(closed(client)) < STREAMED_BYTES
    assert server.memory_mb() - before_mb < 20


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])  # the second comes in chunks
def test_a_long_answer_waits_for_its_reader_and_arrives_whole(server: Flooded, version: bytes) -> None:
    before_mb = server.memory_mb()
    with server.dial(takes_bytes=65_536) as client:
        client.sendall(b"GET /stream HTTP/%s\r\nHost: x\r\nConnection: close\r\n\r\n" % version)
        received, reads, highest_mb = 0, 0, 0.0
        while block := client.recv(1 << 20):
            received, reads = received + len(block), reads + 1
            if reads < 60:  # slower than the server would wait for one that takes nothing
                time.sleep(0.1)
                highest_mb = max(highest_mb, server.memory_mb())
    assert STREAMED_BYTES < received < STREAMED_BYTES * 1.01
    assert highest_mb - before_mb < 20


def test_a_request_beyond_its_size_is_refused(server: Flooded) -> None:
    with server.dial() as client:
        client.sendall(HEAD + b"Content-Length: 99999999\r\n\r\n")
        sending = threading.Thread(target=_send_quietly, args=(client, bytes(REQUEST_BYTES + 1)))
        sending.start()
        answer = client.recv(4096)
        sending.join(60)
    assert answer.startswith(b"HTTP/1.1 413 ")


def _send_quietly(client: socket.socket, data: bytes) -> None:
    try:
        client.sendall(data)
    except OSError:
        return


@pytest.mark.parametrize("step", ["/jump", "/jump-back"])
def test_a_step_of_the_machines_clock_moves_no_timer(server: Flooded, step: str) -> None:
    before = server.events("connection_cut:idle")
    with server.connect("/echo") as live, server.dial() as idle:
        server.get(step)
        assert closed(idle) == b""  # the sweep goes on in its own time
        assert server.events("connection_cut:idle") >= before + 1
        live.send(b"abc")
        assert live.recv(timeout=60) == "3"
