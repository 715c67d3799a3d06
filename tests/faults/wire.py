"""A socket without a page behind it: it says what it is told to, and tells how it was closed."""

from __future__ import annotations

import asyncio

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from tests.faults.client import SUBPROTOCOL
from tests.faults.site import Site
from tests.live.stack import Person


class Dialled:
    """Use as an async context manager."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def __aenter__(self) -> Dialled:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._socket.transport.abort()

    async def send(self, message: str | bytes) -> None:
        await self._socket.send(message)

    async def close_code(self, within_s: float) -> int:
        """1006 when the connection ended without a close frame."""
        async with asyncio.timeout(within_s):
            try:
                while True:
                    await self._socket.recv()
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd is not None else 1006


async def dial(site: Site, person: Person) -> Dialled:
    """Through the handshake, without a hello."""
    socket = await connect(
        f"ws://127.0.0.1:{site.port}/ws/interviews/{person.interview.public_id}/",
        origin=Origin(site.url),
        subprotocols=[SUBPROTOCOL],
        additional_headers={"Cookie": person.cookie},
        compression=None,
        max_size=1 << 20,
    )
    return Dialled(socket)
