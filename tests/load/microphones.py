"""Pages that speak as microphones do, a frame at a time, and how long each frame waited for its ACK."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from tests.faults.client import LivePage

FRAME_S = 0.1
HERE_EVERY_S = (
    20.0  # what they record is silence: a page that shows nobody is asked after 45 s, and then left
)


def frame_s() -> float:
    """How long the pages' frames are, as tests.faults.kept_answer makes them."""
    from tests.faults.kept_answer import FRAME_MS

    return FRAME_MS / 1_000


@dataclass(slots=True)
class Acks:
    """How long each frame waited for its ACK. Pages send as they record."""

    recorded: dict[tuple[int, int], float] = field(default_factory=dict)
    waited_s: list[tuple[float, float]] = field(default_factory=list)  # when recorded, how long

    def record(self, number: int, page: LivePage) -> None:
        kept = page.answers.get(page.open_answer)
        if kept is None or kept.over:
            return  # between two answers
        self.recorded[number, len(kept.frames)] = time.monotonic()
        page.record(1, loud=False)  # speech would be kept in memory for the recogniser, and counted here

    def listener(self, number: int) -> Callable[[int, int, float], None]:
        following = 0

        def told(_answer: int, upto: int, at: float) -> None:
            nonlocal following
            for seq in range(following, upto + 1):
                began = self.recorded.pop((number, seq), at)
                self.waited_s.append((began, at - began))
            following = max(following, upto + 1)

        return told

    def quantile_s(self, share: float, since: float = 0.0, until: float = float("inf")) -> float:
        """Of frames recorded in that time; those without an ACK count as waiting since."""
        now = time.monotonic()
        waits = [*self.waited_s, *((began, now - began) for began in self.recorded.values())]
        chosen = sorted(waited for began, waited in waits if since <= began < until)
        return chosen[int(len(chosen) * share)] if chosen else float("inf")


@asynccontextmanager
async def speaking(pages: Sequence[LivePage], acks: Acks, frame_s: float = FRAME_S) -> AsyncIterator[None]:
    """Each page records a frame every `frame_s`, and none at the same moment as another."""
    for number, page in enumerate(pages):
        page.ack_told = acks.listener(number)
    speakers = [
        asyncio.create_task(_speak(number, page, acks, (frame_s, frame_s * number / len(pages))))
        for number, page in enumerate(pages)
    ]
    try:
        yield
    finally:
        for speaker in speakers:
            speaker.cancel()
        await asyncio.gather(*speakers, return_exceptions=True)


async def _speak(number: int, page: LivePage, acks: Acks, beat_s: tuple[float, float]) -> None:
    every_s, after_s = beat_s
    due = time.monotonic() + after_s
    shows_at = due + HERE_EVERY_S
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        due += every_s
        acks.record(number, page)
        if due >= shows_at:
            shows_at += HERE_EVERY_S
            if page.open_answer:
                with suppress(ConnectionClosed):
                    await page.say(type="here", answer=page.open_answer)
