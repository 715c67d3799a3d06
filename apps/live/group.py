"""What processes tell each other about interviews, over the channel layer: heard and told by one task each.

A lost layer never ends a live session: listening goes on when it is back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from channels.layers import get_channel_layer

from apps.interviews.group import GROUP, ring_all
from apps.ops.metrics import FALLBACKS

logger = logging.getLogger(__name__)

WITHIN_S = 2.0  # to join and to tell, where nobody waits for it: a busy loop may need as long
JOIN_AGAIN_S = 30.0  # a layer that was wiped has forgotten who listens and does not say so
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 8.0

Heard = Callable[[str, Mapping[str, Any]], None]


class TakenOver:
    """Interviews that sockets of this process took over, told to the other processes together.

    Where that fails, a socket that was superseded finds out when it looks at its rows.
    """

    def __init__(self) -> None:
        self._generations: dict[str, int] = {}
        self._some: asyncio.Event | None = None

    def note(self, interview_hex: str, generation: int) -> None:
        self._generations[interview_hex] = generation
        if self._some is not None:
            self._some.set()

    async def tell(self) -> None:
        """Until cancelled."""
        some = self._some = asyncio.Event()
        while True:
            taken, self._generations = self._generations, {}
            if taken:
                await ring_all(_superseded(taken), WITHIN_S)
            await some.wait()
            some.clear()


def _superseded(taken: Mapping[str, int]) -> dict[str, dict[str, object]]:
    return {who: {"type": "interview.superseded", "gen": gen} for who, gen in taken.items()}


async def listen(heard: Heard) -> None:
    """Call `heard` with each interview's hex and message, until cancelled."""
    layer = get_channel_layer()
    wait_s, channel = FIRST_WAIT_S, ""
    while layer is not None:
        try:
            channel = channel or await layer.new_channel()
            while True:
                async with asyncio.timeout(WITHIN_S):
                    await layer.group_add(GROUP, channel)
                wait_s = FIRST_WAIT_S
                await _hear(layer, channel, heard)
        except Exception as exc:  # noqa: BLE001 - any failure of the layer means the same: try again
            level = logging.WARNING if wait_s == FIRST_WAIT_S else logging.DEBUG
            logger.log(
                level, "group of live interviews lost, again in %.0f s: %s", wait_s, type(exc).__name__
            )
            FALLBACKS.labels("layer_lost").inc()
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def _give(heard: Heard, interview_hex: str, told: Mapping[str, Any]) -> None:
    """What one interview cannot be told, perhaps by a newer version, keeps nothing from others."""
    try:
        heard(interview_hex, told)
    except Exception:
        logger.exception("a message of another process could not be taken")


async def _hear(layer: Any, channel: str, heard: Heard) -> None:
    """Until it is time to join again."""
    try:
        async with asyncio.timeout(JOIN_AGAIN_S):
            while True:
                message = await layer.receive(channel)
                for interview_hex, told in message.get("messages", {}).items():
                    _give(heard, interview_hex, told)
    except TimeoutError:
        return
