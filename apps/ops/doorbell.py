"""Tells workers that a job waits. Best effort: every call is bounded, a failure is logged and counted.

The sweeper rings again for what got lost, so nobody ever waits here for a broker.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from celery import current_app
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from prometheus_client import Counter

logger = logging.getLogger(__name__)

RUN_JOB = "ops.run_job"
RING_S = 0.25
# Rings in flight of one process: a hung broker holds this many threads at most, for RING_S each.
_RINGS_AT_ONCE = threading.BoundedSemaphore(8)

RINGS_LOST = Counter(
    "viva_job_rings_lost", "Job messages that did not reach the broker; the sweeper rings again."
)


def ring_soon(job_id: int, priority: int) -> None:
    """Ring once from a thread of its own and return at once; beyond the bound the sweeper rings."""
    if not _RINGS_AT_ONCE.acquire(blocking=False):
        _lost(1, "too many rings in flight")
        return
    threading.Thread(target=_ring_and_release, args=(job_id, priority), daemon=True).start()


def _ring_and_release(job_id: int, priority: int) -> None:
    try:
        ring([(job_id, priority)])
    finally:
        _RINGS_AT_ONCE.release()


def ring(jobs: Iterable[tuple[int, int]]) -> bool:
    """Publish one message per (job id, priority). False when the broker could not be reached in time."""
    waiting = list(jobs)
    try:
        with _connection() as connection:
            while waiting:
                job_id, priority = waiting[0]
                current_app.send_task(
                    RUN_JOB, args=[job_id], priority=priority, connection=connection, retry=False
                )
                waiting.pop(0)
    except (OperationalError, OSError) as exc:
        _lost(len(waiting), type(exc).__name__)
        return False
    return True


def messages_waiting() -> int | None:
    """Messages that no worker has taken yet; None when the broker cannot be reached in time."""
    queue = current_app.conf.task_default_queue
    try:
        with _connection() as connection:
            channel = connection.default_channel
            try:
                return int(channel.queue_declare(queue, passive=True).message_count)
            except connection.channel_errors:
                return 0  # the list exists only while it holds a message
    except (OperationalError, OSError):
        return None


def _connection() -> Connection:
    bounds = {"socket_timeout": RING_S, "socket_connect_timeout": RING_S, "max_retries": 0}
    connection: Connection = current_app.connection_for_write(
        connect_timeout=RING_S, transport_options=bounds
    )
    return connection


def _lost(count: int, why: str) -> None:
    RINGS_LOST.inc(count)
    logger.warning("job rings lost: %d (%s); the sweeper rings again", count, why)
