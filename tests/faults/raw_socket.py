"""A socket that says bytes no library would send, and reads why it was closed."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.faults.lab import Lab
from tests.faults.site import Site
from tests.live.stack import Person
from tests.load.hostile import BINARY, KEY, TEXT, masked

CLOSE = 8
CUT = 1006  # the connection ended without a close frame


@dataclass(slots=True)
class RawSocket:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[dict[str, Any]] = field(default_factory=list)
    code: int = 0  # why it was closed; 0: it is open

    async def send(self, raw: bytes) -> None:
        """As it is. A server that cuts the connection meanwhile is found by `closed`."""
        with suppress(ConnectionError):
            self.writer.write(raw)
            await self.writer.drain()

    async def say(self, **message: Any) -> None:
        await self.send(masked(json.dumps(message).encode(), TEXT))

    async def frame(self, raw: bytes) -> None:
        await self.send(masked(raw, BINARY))

    async def hears(self, kind: str, within_s: float) -> dict[str, Any]:
        async with asyncio.timeout(within_s):
            while not self.code:
                await self._read()
                if self.heard and self.heard[-1]["type"] == kind:
                    return self.heard[-1]
        raise AssertionError(f"closed with {self.code} before any {kind}")

    async def closed(self, within_s: float) -> int:
        """The code of the close frame."""
        async with asyncio.timeout(within_s):
            while not self.code:
                await self._read()
        return self.code

    def drop(self) -> None:
        self.writer.transport.abort()

    async def _read(self) -> None:
        """One message of the server, which sends no fragments."""
        try:
            first, size = await self.reader.readexactly(2)
            if size >= 126:
                size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8))
            payload = await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.code = CUT
            return
        if first & 15 == CLOSE:
            self.code = int.from_bytes(payload[:2])
        elif first & 15 == TEXT:
            self.heard.append(json.loads(payload))


async def raw_socket(lab: Lab, site: Site, person: Person) -> RawSocket:
    """Open and upgraded; no hello said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(
        f"GET /ws/interviews/{person.interview.public_id}/ HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n"
        f"Origin: {site.url}\r\nCookie: {person.cookie}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Protocol: interview.v1\r\nSec-WebSocket-Key: {KEY}\r\n\r\n".encode()
    )
    async with asyncio.timeout(lab.within(10)):
        head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101"), head[:60]
    socket = RawSocket(reader, writer)
    lab.closing.callback(socket.drop)
    return socket


async def welcomed_socket(lab: Lab, site: Site, person: Person) -> RawSocket:
    """With a hello said and the welcome heard."""
    socket = await raw_socket(lab, site, person)
    await socket.say(type="hello", ticket=await lab.rows(person.ticket))
    await socket.hears("welcome", lab.within(10))
    return socket
