from __future__ import annotations

import asyncio
from typing import Any

from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "apps.live"
    label = "live"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.ops.signals import server_listening, server_stopping  # noqa: PLC0415 - apps must be loaded

        server_listening.connect(_begin, dispatch_uid="live sockets")
        server_stopping.connect(_stop, dispatch_uid="live sockets")


def _begin(**_: Any) -> None:
    """Look after sockets, and load the engines before the first candidate comes."""
    from apps.live import process  # noqa: PLC0415
    from apps.live.engines import process_engines  # noqa: PLC0415

    process.begin()
    process_engines.start()


def _stop(**_: Any) -> Any:
    from apps.live import process  # noqa: PLC0415

    return asyncio.ensure_future(process.stop())
