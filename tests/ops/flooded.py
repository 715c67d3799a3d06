"""The other side of `flooded_server`: starts it, talks to it raw, and reads its memory and its counters."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.ops.site import ROOT, accepts, environment, free_port, wait_for

STREAMED_BYTES = 60_000_000  # of /stream
WITHIN_S = 60.0  # only a fault takes as long
UPGRADE = (
    b"GET %s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Flooded:
    """`descriptors`: the process may have no more than so many files open."""

    def __init__(self, folder: Path, *, descriptors: int | None = None, **limits: float) -> None:
        self.port, self.log = free_port(), folder / "flooded.log"
        folder.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-m", "tests.ops.flooded_server", str(self.port), json.dumps(limits)]

        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                argv, cwd=ROOT, env=environment(folder / "var"), stdout=out, stderr=out
            )
        if descriptors is not None:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (descriptors, descriptors))

    def __enter__(self) -> Flooded:
        wait_for(lambda: accepts(self.port) or self.process.poll() is not None, WITHIN_S)
        assert self.process.poll() is None, self.said
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def said(self) -> str:
        return self.log.read_text()

    def connect(self, path: str) -> ClientConnection:
        return connect(
            f"ws://127.0.0.1:{self.port}{path}",
            compression=None,
            max_size=None,
            ping_interval=None,
            open_timeout=WITHIN_S,
        )

    def dial(self, *, takes_bytes: int | None = None) -> socket.socket:
        """A bare connection. `takes_bytes`: how much its kernel takes in without being read."""
        client = socket.socket()
        client.settimeout(WITHIN_S)
        if takes_bytes is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes_bytes)
        client.connect(("127.0.0.1", self.port))
        return client

    def upgraded(self, path: str) -> socket.socket:
        """A bare connection whose handshake is done."""
        client = self.dial()
        client.sendall(UPGRADE % path.encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        assert b" 101 " in head, head
        return client

    def get(self, path: str, body: bytes | None = None) -> str:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body)
        with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
            return str(answer.read().decode())

    def events(self, name: str) -> int:
        return int(self._state()["events"].get(name, 0))

    def gone(self, name: str) -> int:
        """How many sockets' applications were told that their client left."""
        return int(self._state()["gone"].get(name, 0))

    def queued(self) -> int:
        """How many messages wait for the application that is furthest behind."""
        return int(self._state()["queued"])

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1000

    def _state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.get("/state"))
        return found


def masked(payload: bytes, *, opcode: int, last: bool = True) -> bytes:
    """A client's frame, by hand. Its mask is zero, so the payload stands there as it is."""
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else bytes([0x80 | 126]) + length.to_bytes(2, "big")
    return bytes([(0x80 if last else 0) | opcode]) + size + bytes(4) + payload


def refused(client: socket.socket, data: bytes) -> bool:
    """Send the same again and again without reading, until the other side has had enough."""
    try:
        while True:
            client.sendall(data)
    except ConnectionError:
        return True


def closed(client: socket.socket) -> bytes:
    """What comes until the other side ends the connection, in whatever way."""
    received = b""
    try:
        while block := client.recv(1 << 20):
            received += block
    except ConnectionError:
        pass
    return received
