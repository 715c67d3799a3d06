"""An OpenAI-compatible server over real HTTP that speaks and waits as a script says.

A script is a list of steps for one request: bytes to send, seconds to wait, or an ending. The nth request
gets the nth script; the last script serves all further ones.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Ending(Enum):
    HANG = "says nothing more until the client goes"
    CUT = "closes the connection in the middle of the body"
    RESET = "sends a TCP reset"


Step = bytes | float | Ending
Script = Sequence[Step]


@dataclass(slots=True)
class Exchange:
    """One request as the server saw it. Times are monotonic seconds."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at_s: float
    gone_at_s: float | None = None  # the client closed its side
    finished_at_s: float | None = None  # the script was played to its end
    sent_bytes: int = 0


@dataclass(slots=True)
class ScriptedServer:
    scripts: list[Script]
    exchanges: list[Exchange] = field(default_factory=list)
    connections: int = 0
    active: int = 0
    port: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def wait_until_idle(self, within_s: float) -> None:
        """Until no request is being served; TimeoutError otherwise."""
        async with asyncio.timeout(within_s):
            while self.active:
                await asyncio.sleep(0.005)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while exchange := await _request(reader):
                script = self.scripts[min(len(self.exchanges), len(self.scripts) - 1)]
                self.exchanges.append(exchange)
                self.active += 1
                try:
                    if not await self._play(script, exchange, reader, writer):
                        break
                finally:
                    self.active -= 1
        except ConnectionError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    async def close(self) -> None:
        """Cut every connection and wait until its handler has ended."""
        for writer in self._writers:
            writer.transport.abort()
        while self._writers:
            await asyncio.sleep(0)

    async def _play(
        self, script: Script, exchange: Exchange, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """True when the connection may serve another request."""
        steps = asyncio.ensure_future(_steps(script, exchange, writer))
        # A client sends nothing after its request, so a byte or an end here means that it left.
        watcher = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({steps, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if steps.done() and not steps.exception():
                exchange.finished_at_s = time.monotonic()
                return steps.result()
            exchange.gone_at_s = time.monotonic()
            return False
        finally:
            for task in (steps, watcher):
                task.cancel()
                with suppress(asyncio.CancelledError, ConnectionError):
                    await task


async def _steps(script: Script, exchange: Exchange, writer: asyncio.StreamWriter) -> bool:
    for step in script:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
            exchange.sent_bytes += len(step)
        elif isinstance(step, Ending):
            return await _end(step, writer)
        else:
            await asyncio.sleep(step)
    return True


async def _end(ending: Ending, writer: asyncio.StreamWriter) -> bool:
    if ending is Ending.HANG:
        await asyncio.Event().wait()
    if ending is Ending.RESET:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    return False


async def _request(reader: asyncio.StreamReader) -> Exchange | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(first.split()[1], headers, json.loads(body or b"{}"), time.monotonic())


@asynccontextmanager
async def scripted_server(*scripts: Script) -> AsyncIterator[ScriptedServer]:
    served = ScriptedServer(list(scripts))
    listener = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = listener.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        listener.close()
        await served.close()


def head(status: str = "200 OK", content_type: str = "text/event-stream", extra: str = "") -> bytes:
    lines = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{extra}Transfer-Encoding: chunked\r\n\r\n"
    return lines.encode()


def chunk(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


LAST = b"0\r\n\r\n"
DONE = chunk(b"data: [DONE]\n\n")


def event(delta: dict[str, Any], finish_reason: str | None = None, model: str = "scripted-1") -> bytes:
    """One server-sent event with a chat completion chunk, as an HTTP chunk."""
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }
    return chunk(f"data: {json.dumps(body)}\n\n".encode())


def said(text: str) -> bytes:
    return event({"content": text})


def split(text: str, size: int = 4) -> list[str]:
    """A text in pieces of `size` characters, about a token each."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def tokens(text: str, *, every_s: float = 0.0) -> Iterable[Step]:
    for piece in split(text):
        yield said(piece)
        if every_s:
            yield every_s


def stream(text: str, *, every_s: float = 0.0, finish_reason: str = "stop") -> list[Step]:
    """A good stream of `text`, ended as it should be."""
    opening = event({"role": "assistant", "content": ""})
    return [head(), opening, *tokens(text, every_s=every_s), event({}, finish_reason), DONE, LAST]


def whole(status: str, body: bytes = b"", content_type: str = "application/json", extra: str = "") -> Script:
    """An answer that is not a stream."""
    lines = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return [lines.encode() + body]
