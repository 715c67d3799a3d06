"""Run as a process: our bounded Daphne in front of consumers that read or write without measure."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from django import setup

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview_site.settings")
setup()

from apps.ops.daphne_server import MESSAGE_BYTES, BoundedServer  # noqa: E402
from apps.ops.signals import server_listening  # noqa: E402

server_listening.receivers.clear()  # no engines: this process's memory is the measure


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    if scope["path"] == "/stalled":
        await asyncio.sleep(3600)
    elif scope["path"] == "/echo":
        await echo(receive, send)
    else:
        while True:
            await send({"type": "websocket.send", "bytes": bytes(60_000)})
            await asyncio.sleep(0.001)


async def echo(receive: Any, send: Any) -> None:
    """Slower than the sender, so that reading is paused and taken up again all the time."""
    while (message := await receive())["type"] == "websocket.receive":
        await asyncio.sleep(0.001)
        await send({"type": "websocket.send", "text": str(len(message["bytes"]))})


BoundedServer(
    application,
    endpoints=[f"tcp:port={sys.argv[1]}:interface=127.0.0.1"],
    websocket_max_message_size=MESSAGE_BYTES,
    websocket_max_frame_size=MESSAGE_BYTES,
).run()
