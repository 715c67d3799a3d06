"""Celery's consumer, which finds a broker that was away within seconds instead of half a minute."""

from __future__ import annotations

from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

ASK_EVERY_S = 3


class PromptConsumer(Consumer):  # type: ignore[misc]
    """Named by the setting CELERY_WORKER_CONSUMER."""

    def ensure_connected(self, conn: Any) -> Any:
        # The pause between two tries grows to 30 s, and no setting of Celery's bounds it.
        conn.ensure_connection = partial(conn.ensure_connection, interval_max=ASK_EVERY_S)
        return super().ensure_connected(conn)
