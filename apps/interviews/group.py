"""A doorbell to the open pages of interviews, whichever process holds a socket. Rows carry the truth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from channels.layers import get_channel_layer

from apps.ops.metrics import FALLBACKS

logger = logging.getLogger(__name__)

# One group for all: each web process joins it once, and not anew for every page of a crowd that comes back.
GROUP = "live"
SEND_WITHIN_S = 0.25


async def ring(interview_hex: str, message: Mapping[str, object]) -> None:
    """Tell every process that holds this interview. Never raises, never takes longer than 0.25 s."""
    await ring_all({interview_hex: message})


async def ring_all(messages: Mapping[str, Mapping[str, object]], within_s: float = SEND_WITHIN_S) -> None:
    """The same for several interviews, in one message."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async with asyncio.timeout(within_s):
            await layer.group_send(GROUP, {"type": "interviews", "messages": dict(messages)})
    except Exception as exc:  # noqa: BLE001 - any failure of the layer means the same: not told
        kinds = sorted({str(message["type"]) for message in messages.values()})
        logger.warning("%s not sent: %s", ", ".join(kinds), type(exc).__name__)
        FALLBACKS.labels("layer_lost").inc()
