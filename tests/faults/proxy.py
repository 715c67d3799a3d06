"""A TCP proxy that hurts: delays, cuts, slices, swallows and resets what goes through it.

    async with Proxy(port) as proxy:
        proxy.up.latency_s = 0.8        # from the page to the server; `down` is the other way
        proxy.up.hole = True            # nothing arrives any more, and nobody is told
        await proxy.close_door()        # connections are refused
        proxy.reset()                   # every open connection ends with a TCP reset

Every property may change while connections are open. Knows nothing of HTTP or WebSockets.
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

BLOCK = 16_384
QUEUED = 64  # blocks on their way; beyond them the proxy reads no more, as a full pipe would


@dataclass(slots=True)
class Toxics:
    """What happens to one direction. The defaults harm nothing."""

    latency_s: float = 0.0
    jitter_s: float = 0.0
    bandwidth: float = 0.0  # bytes a second; 0: no limit
    slice_bytes: int = 0  # pieces of at most so many bytes; 0: as they come
    limit_bytes: int = 0  # a connection is closed after so many; 0: never
    hole: bool = False  # what comes is swallowed
    passed: int = 0  # bytes that went through


@dataclass(eq=False, slots=True)
class _Line:
    """One connection through the proxy."""

    inside: asyncio.StreamWriter
    outside: asyncio.StreamWriter

    def end(self, *, reset: bool = False) -> None:
        for writer in (self.inside, self.outside):
            if reset:
                linger = struct.pack("ii", 1, 0)
                with suppress(OSError):
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()


@dataclass(slots=True)
class Proxy:
    """In front of `target`, a port of this machine. `port` is where it listens itself."""

    target: int
    seed: int = 0
    up: Toxics = field(default_factory=Toxics)
    down: Toxics = field(default_factory=Toxics)
    port: int = 0
    accepted: int = 0
    _lines: set[_Line] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        return len(self._lines)

    async def __aenter__(self) -> Proxy:
        await self.open_door()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_door()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def open_door(self) -> None:
        """Listen, again on the same port after `close_door`."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close_door(self) -> None:
        """Refuse new connections; open ones go on."""
        if self._server is not None:
            self._server.close()
            self._server = None
        await asyncio.sleep(0)

    def reset(self) -> None:
        for line in list(self._lines):
            line.end(reset=True)

    def hole(self, *, on: bool) -> None:
        """Both ways: connections stay open and nothing passes."""
        self.up.hole = self.down.hole = on

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.accepted += 1
        try:
            await self._carry(reader, writer)
        except (OSError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner = await asyncio.open_connection("127.0.0.1", self.target)
        line = _Line(inner, writer)
        self._lines.add(line)
        dice = random.Random(self.seed + self.accepted)  # noqa: S311 - a seeded jitter
        ways = [
            asyncio.create_task(_pump(reader, inner, self.up, dice)),
            asyncio.create_task(_pump(inner_reader, writer, self.down, dice)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            line.end()
            self._lines.discard(line)


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, toxics: Toxics, dice: random.Random
) -> None:
    """Read at once, write when due: a delayed block does not hold up the reading of the next one."""
    due: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUED)
    writing = asyncio.create_task(_write(due, writer, toxics))
    try:
        swallowed = False
        while block := await _read(reader, writing):
            if toxics.hole:
                swallowed = True
                continue
            if swallowed:
                return  # bytes are missing: what follows would be garbage to the other side
            delay_s = max(0.0, toxics.latency_s + dice.uniform(-toxics.jitter_s, toxics.jitter_s))
            await due.put((asyncio.get_running_loop().time() + delay_s, block))
        await due.put((0.0, b""))
        await writing
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _read(reader: asyncio.StreamReader, writing: asyncio.Task[None]) -> bytes:
    """The next block; empty at the end of the connection or when the other side takes no more."""
    reading = asyncio.ensure_future(reader.read(BLOCK))
    try:
        await asyncio.wait({reading, writing}, return_when=asyncio.FIRST_COMPLETED)
        return reading.result() if reading.done() else b""
    finally:
        reading.cancel()


async def _write(
    due: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter, toxics: Toxics
) -> None:
    clock: Callable[[], float] = asyncio.get_running_loop().time
    sent = 0
    while True:
        at, block = await due.get()
        if not block:
            return
        await asyncio.sleep(max(0.0, at - clock()))
        size = toxics.slice_bytes or len(block)
        for start in range(0, len(block), size):
            piece = block[start : start + size]
            if toxics.bandwidth:
                await asyncio.sleep(len(piece) / toxics.bandwidth)
            writer.write(piece)
            await writer.drain()
            sent += len(piece)
            toxics.passed += len(piece)
            if toxics.limit_bytes and sent >= toxics.limit_bytes:
                return
