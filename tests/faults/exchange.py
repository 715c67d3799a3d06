"""One HTTP request from a coroutine, over a connection of its own. Knows no cookies and no redirects."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

CSRF = "f" * 32  # any value does that comes both as cookie and as header


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: str

    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


async def ask(
    method: str, url: str, *, cookie: str = "", within_s: float = 30.0, body: str = "", **headers: str
) -> Reply:
    """Raises OSError or TimeoutError when there is no answer. A POST brings its CSRF token along."""
    parts = urlsplit(url)
    fields = {
        "Host": parts.netloc,
        "Origin": f"{parts.scheme}://{parts.netloc}",
        "Cookie": f"csrftoken={CSRF}; {cookie}",
        "X-CSRFToken": CSRF,
        "Content-Length": str(len(body.encode())),
        "Connection": "close",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    async with asyncio.timeout(within_s):
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 22)
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n{body}".encode())
            await writer.drain()
            return _reply(await reader.read())
        finally:
            writer.transport.abort()


def _reply(raw: bytes) -> Reply:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin1").split("\r\n")
    words = first.split()
    if len(words) < 2:
        raise ConnectionError("the connection ended before an answer")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _dechunked(body)
    return Reply(int(words[1]), headers, body.decode(errors="replace"))


def _dechunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        if length == 0:
            break
        whole, body = whole + rest[:length], rest[length + 2 :]
    return whole
