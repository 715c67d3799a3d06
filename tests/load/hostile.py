"""A client that sends as fast as it can and never reads: raw bytes over a socket, from a thread.

Each attack dials again whenever it is thrown out, until its time is over.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from apps.live.frames import encode_frame
from tests.faults.client import Visitor

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
TEXT, BINARY, PING = 1, 2, 9
PAUSE_S = 0.05  # between two connections
FRAMES = 200  # in one block of an attack on a session


def masked(payload: bytes, opcode: int) -> bytes:
    """A client's frame whose mask is zero, so that it costs nothing to make."""
    size = len(payload)
    if size < 126:
        head = bytes([0x80 | size])
    elif size < 1 << 16:
        head = bytes([0xFE]) + size.to_bytes(2, "big")
    else:
        head = bytes([0xFF]) + size.to_bytes(8, "big")
    return bytes([0x80 | opcode]) + head + bytes(4) + payload


@dataclass(slots=True)
class Attack:
    """`opening`: what is said once, on each connection; `blocks`: what is then sent without end."""

    name: str
    visitor: Visitor
    opening: Callable[[], bytes]
    blocks: list[bytes]
    sent_bytes: int = field(default=0)
    connections: int = field(default=0)

    def run(self, until: float) -> None:
        while time.monotonic() < until:
            try:
                self._once(until)
            except (OSError, TimeoutError):
                time.sleep(PAUSE_S)

    def _once(self, until: float) -> None:
        opening = self.opening()
        with socket.create_connection(self._address(), timeout=5) as client:
            self._upgrade(client)
            self.connections += 1
            client.settimeout(1)
            client.sendall(opening)
            while time.monotonic() < until:
                for block in self.blocks:
                    self._send(client, block, until)

    def _send(self, client: socket.socket, block: bytes, until: float) -> None:
        """All of it, however long TCP holds it back."""
        left = memoryview(block)
        while left and time.monotonic() < until:
            try:
                sent = client.send(left)
            except TimeoutError:
                continue
            self.sent_bytes += sent
            left = left[sent:]

    def _address(self) -> tuple[str, int]:
        site = urlsplit(self.visitor.site)
        assert site.hostname is not None
        assert site.port is not None
        return site.hostname, site.port

    def _upgrade(self, client: socket.socket) -> None:
        host = urlsplit(self.visitor.site).netloc
        client.sendall(
            f"GET /ws/interviews/{self.visitor.interview}/ HTTP/1.1\r\nHost: {host}\r\n"
            f"Origin: {self.visitor.site}\r\nCookie: {self.visitor.cookie}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: interview.v1\r\nSec-WebSocket-Key: {KEY}\r\n\r\n".encode()
        )
        if not client.recv(4096).startswith(b"HTTP/1.1 101"):
            raise ConnectionRefusedError


def audio_blocks(seconds: float) -> list[bytes]:
    """Valid frames of the first answer, one after the other, in blocks of 20 s."""
    frames = [
        masked(encode_frame(os.urandom(3_200), answer=1, seq=seq, capture_us=seq * 100_000), BINARY)
        for seq in range(int(seconds * 10))
    ]
    return [b"".join(frames[first : first + FRAMES]) for first in range(0, len(frames), FRAMES)]


def noise_blocks() -> list[bytes]:
    """The largest messages, the smallest, and questions after the connection: all before any hello."""
    return [
        masked(bytes(65_000), BINARY) * 4,
        masked(b"x", TEXT) * 10_000,
        masked(bytes(125), PING) * 2_000,
    ]
