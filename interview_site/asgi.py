"""The ASGI application: pages over HTTP, live interviews over WebSockets, and the server's begin and end."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview_site.settings")
_pages = get_asgi_application()  # sets Django up; the imports below need it

from apps.live.routing import websocket_application  # noqa: E402
from apps.ops.lifespan import lifespan  # noqa: E402

application = ProtocolTypeRouter(
    {"http": _pages, "websocket": websocket_application(URLRouter), "lifespan": lifespan}
)
