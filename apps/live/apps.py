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

        server_listening.connect(_warm_up, dispatch_uid="live engines")
        server_stopping.connect(_drain, dispatch_uid="live sockets")


def _warm_up(**_: Any) -> None:
    """Load the engines before the first candidate comes."""
    from apps.live.engines import process_engines  # noqa: PLC0415

    process_engines.start()


def _drain(**_: Any) -> Any:
    from apps.live.consumers import live_sockets  # noqa: PLC0415
    from apps.live.engines import process_engines  # noqa: PLC0415

    async def drained() -> None:
        await live_sockets.drain()
        await process_engines.aclose()

    return asyncio.ensure_future(drained())
