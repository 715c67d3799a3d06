"""A worker says in Redis that it lives; readiness reads it."""

from __future__ import annotations

import time
from typing import Any

import redis
from celery import signals

from apps.ops.embedded import redis_client

KEY = "viva:worker"
EVERY_S = 5.0
STALE_S = 20
_last_beat = 0.0


@signals.heartbeat_sent.connect  # type: ignore[untyped-decorator]
def beat(sender: Any = None, **_: Any) -> None:
    """Called by Celery every two seconds, on the worker's event loop."""
    global _last_beat  # noqa: PLW0603 - one worker per process
    from django.conf import settings  # noqa: PLC0415 - Celery sets Django up after this import

    if time.monotonic() - _last_beat < EVERY_S:
        return
    _last_beat = time.monotonic()
    try:
        with redis_client(settings.CELERY_BROKER_URL, 0.25) as client:
            client.set(KEY, "1", ex=STALE_S)
    except (redis.RedisError, OSError):
        return  # Celery reports a lost broker itself
