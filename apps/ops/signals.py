"""Moments of the web process that other apps may act on. ops is below them and cannot call them.

The server tells of both in its running loop: Daphne through BoundedServer, others through ASGI's lifespan.
"""

from __future__ import annotations

import asyncio
import inspect
import logging

from django.dispatch import Signal

server_listening = Signal()
"""The port answers, or will in a moment. Sent once, in the running loop; receivers must not block it."""

server_stopping = Signal()
"""The server was told to stop. A receiver may return an awaitable; all get 10 s before sockets drop."""

STOPPING_S = 10.0
logger = logging.getLogger(__name__)


def tell_listening() -> None:
    server_listening.send_robust(sender=None)


async def tell_stopping(within_s: float = STOPPING_S) -> None:
    """Wait for what the receivers want to finish, no longer than `within_s`."""
    answers = [answer for _, answer in server_stopping.send_robust(sender=None)]
    waits = [asyncio.ensure_future(answer) for answer in answers if inspect.isawaitable(answer)]
    if not waits:
        return
    finished, late = await asyncio.wait(waits, timeout=within_s)
    for wait in finished:
        if not wait.cancelled() and (failure := wait.exception()):
            logger.error("a step of stopping failed", exc_info=failure)
    if late:
        logger.warning("%d steps of stopping still ran after %.0f s; they are cut", len(late), within_s)
    for wait in late:
        wait.cancel()
