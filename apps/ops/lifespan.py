"""ASGI's lifespan: how a server other than ours, such as uvicorn, tells of its begin and end."""

from __future__ import annotations

from typing import Any

from apps.ops.signals import tell_listening, tell_stopping


async def lifespan(_scope: Any, receive: Any, send: Any) -> None:
    """Neither step can fail: what a receiver raises is logged where it is sent."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            tell_listening()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await tell_stopping()
            await send({"type": "lifespan.shutdown.complete"})
            return
