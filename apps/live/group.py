"""Messages between processes about one interview, over the channel layer. A doorbell: rows carry the truth.

A lost layer never ends a live session: listening goes on when it is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from channels.layers import get_channel_layer

from apps.ops.metrics import FALLBACKS

logger = logging.getLogger(__name__)

SEND_WITHIN_S = 0.25
JOIN_WITHIN_S = 1.0
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 8.0


def group_of(interview_hex: str) -> str:
    return f"interview.{interview_hex}"


async def ring(interview_hex: str, message: Mapping[str, object]) -> None:
    """Tell every process that holds this interview. Never raises, never takes longer than 0.25 s."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async with asyncio.timeout(SEND_WITHIN_S):
            await layer.group_send(group_of(interview_hex), dict(message))
    except Exception as exc:  # noqa: BLE001 - any failure of the layer means the same: not told
        logger.warning("%s not sent: %s", message["type"], type(exc).__name__)
        FALLBACKS.labels("layer_lost").inc()


async def listen(interview_hex: str, heard: Callable[[Mapping[str, Any]], None]) -> None:
    """Call `heard` for each message of the interview's group, until cancelled."""
    layer = get_channel_layer()
    wait_s = FIRST_WAIT_S
    while layer is not None:
        try:
            channel = await layer.new_channel()
            async with asyncio.timeout(JOIN_WITHIN_S):
                await layer.group_add(group_of(interview_hex), channel)
            wait_s = FIRST_WAIT_S
            while True:
                heard(await layer.receive(channel))
        except Exception as exc:  # noqa: BLE001 - any failure of the layer means the same: try again
            logger.warning("group of a live interview lost, again in %.0f s: %s", wait_s, type(exc).__name__)
            FALLBACKS.labels("layer_lost").inc()
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
