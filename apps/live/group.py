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

JOIN_WITHIN_S = 1.0
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 8.0


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
