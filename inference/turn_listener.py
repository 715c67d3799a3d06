"""Asks a model of turns about each pause: keeps the end of what was pushed, forgets what comes too late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk
from inference.ports import TurnModel

HEARD_S = 8.0
KEPT_BYTES = (
    round(2 * HEARD_S * SAMPLE_RATE) * BYTES_PER_SAMPLE
)  # what is pushed may be ahead of what is heard


class TurnListener:
    """One answer's. `told` gets the model's answer while the pause that it is about lasts."""

    def __init__(self, model: TurnModel, told: Callable[[float], None]) -> None:
        self._model, self._told = model, told
        self._pcm = bytearray()
        self._end = 0  # sample
        self._asking: asyncio.Task[None] | None = None
        self._asked = False

    def push(self, chunk: AudioChunk) -> None:
        if chunk.start != self._end:
            self._pcm.clear()  # something is missing: what was before it tells nothing of what follows
        self._pcm += chunk.pcm
        self._end = chunk.start + chunk.samples
        del self._pcm[: max(0, len(self._pcm) - KEPT_BYTES)]

    def speaks(self) -> None:
        """The pause is over."""
        self.stop()
        self._asked = False

    def pause(self, at_s: float) -> None:
        """Ask about the pause that lasts at `at_s`, once."""
        if self._asked:
            return
        self._asked = True
        if pcm := self._until(round(at_s * SAMPLE_RATE)):
            self._asking = asyncio.create_task(self._ask(pcm), name="turn model")

    def stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def _until(self, sample: int) -> bytes:
        """The last seconds before it; nothing when they are not here any more, or not yet."""
        end = len(self._pcm) - (self._end - sample) * BYTES_PER_SAMPLE
        if not 0 < end <= len(self._pcm):
            return b""
        return bytes(self._pcm[max(0, end - round(HEARD_S * SAMPLE_RATE) * BYTES_PER_SAMPLE) : end])

    async def _ask(self, pcm: bytes) -> None:
        over = await self._model.over(pcm)
        if over is not None:
            self._told(over)
