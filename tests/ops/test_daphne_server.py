"""A client that floods, or that never reads, costs the server a bounded amount of memory."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from apps.ops.daphne_server import MESSAGE_BYTES
from tests.ops.site import ROOT, accepts, environment, free_port, wait_for


class Flooded:
    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port

    def connect(self, path: str) -> ClientConnection:
        return connect(
            f"ws://127.0.0.1:{self.port}{path}", compression=None, max_size=None, ping_interval=None
        )

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flooded]:
    port, var = free_port(), tmp_path_factory.mktemp("flooded") / "var"
    argv = [sys.executable, "-m", "tests.ops.flooded_server", str(port)]
    process = subprocess.Popen(argv, cwd=ROOT, env=environment(var))
    try:
        wait_for(lambda: accepts(port), 20)
        yield Flooded(process, port)
    finally:
        process.kill()
        process.wait()


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


def test_a_slow_consumer_gets_every_message_in_the_end(server: Flooded) -> None:
    with server.connect("/echo") as client:
        for number in range(500):
            client.send(bytes(1000 + number))
        assert [client.recv(timeout=20) for _ in range(500)] == [str(1000 + number) for number in range(500)]


def test_a_client_that_never_reads_is_cut_off(server: Flooded) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(
            b"GET /chatty HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        before_mb = server.memory_mb()
        time.sleep(3)
        assert server.memory_mb() - before_mb < 60
        client.settimeout(5)
        assert drained(client) < 50_000_000


def test_a_message_over_the_limit_closes_the_socket(server: Flooded) -> None:
    with server.connect("/echo") as client:
        client.send(bytes(MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=5)
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
