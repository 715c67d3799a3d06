"""One speech server of a pool: its places, its health, and the probing that brings it back.

Knows neither requests that wait nor other servers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from inference.adapters.openai_asr import AsrBusy, AsrUnavailable
from inference.config import RemoteAsrConfig
from inference.observe import Observe
from inference.ports import EngineUnavailable, Priority, Recognizer, Speech, Transcript

logger = logging.getLogger(__name__)

LATE_AT_MOST = 3  # answers in a row that came too late for whoever waited
PROBE_S = 5.0


class Member:
    """`changed` is called when it can be asked again. A sick server is asked nothing but probes.

    Observes `fallback:asr_server` each time it falls sick.
    """

    def __init__(
        self,
        number: int,
        recognizer: Recognizer,
        config: RemoteAsrConfig,
        observe: Observe,
        changed: Callable[[], None],
    ) -> None:
        self.number = number
        self.in_flight = 0  # counted by whoever asks: a place is taken before the asking begins
        self.well = True
        self._recognizer, self._config = recognizer, config
        self._observe, self._changed = observe, changed
        self._rest_s = config.first_rest_s
        self._late = 0
        self._resting: asyncio.TimerHandle | None = None
        self._probing: asyncio.Task[None] | None = None

    @property
    def resting(self) -> bool:
        """It is well and asked not to be asked for a while."""
        return self._resting is not None

    @property
    def free(self) -> bool:
        return self.well and not self.resting and self.in_flight < self._config.at_once

    async def check(self) -> None:
        """Find out whether it answers; if not, it is probed from now on."""
        try:
            await self._probe()
        except EngineUnavailable as exc:
            self._fall_sick(_reason(exc))

    async def ask(self, speech: Speech, priority: Priority) -> Transcript:
        """Raises EngineUnavailable, after which it may be sick."""
        try:
            transcript = await self._recognizer.transcribe(speech, priority)
        except AsrBusy as exc:
            self._rest(exc.retry_after_s)
            raise
        except EngineUnavailable as exc:
            if not isinstance(exc, AsrUnavailable) or exc.server_at_fault:
                self._fall_sick(_reason(exc))
            raise
        self._late, self._rest_s = 0, self._config.first_rest_s
        return transcript

    def note_late(self) -> None:
        """Somebody had to ask elsewhere too."""
        self._late += 1
        if self._late >= LATE_AT_MOST:
            self._fall_sick("late")

    async def aclose(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        if self._probing is not None:
            self._probing.cancel()
            with suppress(asyncio.CancelledError):
                await self._probing
        await self._recognizer.aclose()

    def _rest(self, rest_s: float) -> None:
        if self._resting is None:
            logger.warning("speech server %d is busy, asked again in %.0f s", self.number, rest_s)
            self._resting = asyncio.get_running_loop().call_later(rest_s, self._rested)

    def _rested(self) -> None:
        self._resting = None
        self._changed()

    def _fall_sick(self, reason: str) -> None:
        if not self.well:
            return
        self.well, self._late = False, 0
        self._observe("fallback:asr_server", 1)
        logger.warning(
            "speech server %d is out (%s), probed again in %.0f s", self.number, reason, self._rest_s
        )
        self._probing = asyncio.create_task(self._recover(), name=f"speech-server-{self.number}")

    async def _recover(self) -> None:
        """Probe until it answers. Only a real answer makes the next rest short again."""
        while not self.well:
            await asyncio.sleep(self._rest_s)
            self._rest_s = min(self._config.last_rest_s, self._rest_s * 2)
            try:
                await self._probe()
            except EngineUnavailable as exc:
                logger.info("speech server %d is still out: %s", self.number, _reason(exc))
            else:
                self.well = True
        logger.warning("speech server %d is back", self.number)
        self._changed()

    async def _probe(self) -> None:
        try:
            async with asyncio.timeout(PROBE_S):
                await self._recognizer.start()
        except TimeoutError:
            raise AsrUnavailable("slow") from None


def _reason(exc: EngineUnavailable) -> str:
    return exc.reason if isinstance(exc, AsrUnavailable) else type(exc).__name__
