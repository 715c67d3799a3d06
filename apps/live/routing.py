"""Which sockets exist, and what stands before them: the login session. Any other path is closed politely."""

from __future__ import annotations

from typing import Any

from channels.routing import URLRouter
from channels.sessions import SessionMiddlewareStack
from django.urls import path, re_path

from apps.live.consumers import LiveConsumer
from apps.live.engines import EngineRoom, process_engines


async def _refuse(scope: Any, receive: Any, send: Any) -> None:
    """No such socket: the handshake is answered with 403 instead of a traceback."""
    await receive()
    await send({"type": "websocket.close"})


def websocket_application(
    router: type[URLRouter] = URLRouter, room: EngineRoom = process_engines, **options: float
) -> Any:
    """The application for sockets. Tests give a `room` of scripted engines; `options` go to LiveConsumer.

    Candidates have no user: the login session's token is what binds them, so no user is looked up.
    """
    live: Any = LiveConsumer.as_asgi(room=room, **options)
    refuse: Any = _refuse
    routes: list[Any] = [path("ws/interviews/<uuid:public_id>/", live), re_path(r"", refuse)]
    return SessionMiddlewareStack(router(routes))
