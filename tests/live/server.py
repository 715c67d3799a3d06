"""A real web process for the tests: Daphne, pages and sockets, with scripted engines behind their ports.

`python -m tests.live.server PORT`; VAR_DIR, DATABASE_URL and LINES (JSON: what is "heard") come from the environment.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.live.settings")


def main(port: int) -> None:
    django.setup()
    from channels.routing import ProtocolTypeRouter
    from django.core.asgi import get_asgi_application

    from apps.live.engines import EngineRoom
    from apps.live.routing import websocket_application
    from apps.ops.daphne_server import BoundedServer
    from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
    from inference.ports import Engines

    lines = json.loads(os.environ.get("LINES", "[]"))

    def scripted() -> Engines:
        if not lines:
            return Engines(None, None, None, why_text="no speech model in this test")
        return Engines(LoudnessDetector(), ScriptedRecognizer(*lines), None)

    sockets = websocket_application(room=EngineRoom(scripted))
    application = ProtocolTypeRouter({"http": get_asgi_application(), "websocket": sockets})
    BoundedServer(application, endpoints=[f"tcp:port={port}:interface=127.0.0.1"]).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
