"""A doorbell to the open page of an interview, whichever process holds its socket. Rows carry the truth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from channels.layers import get_channel_layer

from apps.ops.metrics import FALLBACKS

logger = logging.getLogger(__name__)

SEND_WITHIN_S = 0.25


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
