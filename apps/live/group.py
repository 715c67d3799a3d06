"""Hears what other processes tell about one interview, over the channel layer.

A lost layer never ends a live session: listening goes on when it is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from channels.layers import get_channel_layer

from apps.interviews.group import group_of
from apps.ops.metrics import FALLBACKS

logger = logging.getLogger(__name__)

JOIN_WITHIN_S = 0.25
JOIN_AGAIN_S = 30.0  # a layer that was wiped has forgotten who listens and does not say so
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 8.0


async def listen(interview_hex: str, heard: Callable[[Mapping[str, Any]], None]) -> None:
    """Call `heard` for each message of the interview's group, until cancelled."""
    layer = get_channel_layer()
    wait_s = FIRST_WAIT_S
    while layer is not None:
        try:
            channel = await layer.new_channel()
            while True:
                async with asyncio.timeout(JOIN_WITHIN_S):
                    await layer.group_add(group_of(interview_hex), channel)
                wait_s = FIRST_WAIT_S
                await _hear(layer, channel, heard)
        except Exception as exc:  # noqa: BLE001 - any failure of the layer means the same: try again
            level = logging.WARNING if wait_s == FIRST_WAIT_S else logging.DEBUG
            logger.log(
                level, "group of a live interview lost, again in %.0f s: %s", wait_s, type(exc).__name__
            )
            FALLBACKS.labels("layer_lost").inc()
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


async def _hear(layer: Any, channel: str, heard: Callable[[Mapping[str, Any]], None]) -> None:
    """Until it is time to join again."""
    try:
        async with asyncio.timeout(JOIN_AGAIN_S):
            while True:
                heard(await layer.receive(channel))
    except TimeoutError:
        return
