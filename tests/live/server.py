"""A real web process for the tests: Daphne, pages and sockets, with scripted engines behind their ports.

`python -m tests.live.server PORT`. Reads VAR_DIR, DATABASE_URL, LINES (JSON: what is "heard"), HEARD_AFTER_S
(how long that takes) and IDLE_S from the environment.
"""

from __future__ import annotations

import json
import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview_site.settings")


def main(port: int) -> None:
    django.setup()
    from channels.routing import ProtocolTypeRouter
    from django.core.asgi import get_asgi_application

    from apps.live.engines import EngineRoom
    from apps.live.routing import websocket_application
    from apps.ops.daphne_server import MESSAGE_BYTES, BoundedServer
    from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
    from inference.ports import Engines

    lines = json.loads(os.environ.get("LINES", "[]"))

    def scripted() -> Engines:
        if not lines:
            return Engines(None, None, None, why_text="no speech model in this test")
        after_s = float(os.environ.get("HEARD_AFTER_S", "0"))
        return Engines(LoudnessDetector(), ScriptedRecognizer(*lines, delay_s=after_s), None)

    idle_s = float(os.environ.get("IDLE_S", "30"))
    sockets = websocket_application(room=EngineRoom(scripted), idle_s=idle_s)
    application = ProtocolTypeRouter({"http": get_asgi_application(), "websocket": sockets})
    BoundedServer(
        application,
        endpoints=[f"tcp:port={port}:interface=127.0.0.1"],
        websocket_max_message_size=MESSAGE_BYTES,
        websocket_max_frame_size=MESSAGE_BYTES,
    ).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
