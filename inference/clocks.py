"""The clocks of one turn: when a score stands, when the floor is taken, when a silent speaker is asked.

Everything is counted in audio: while none comes (muted, typing, a key that is not held) no clock moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from inference.endpointing import Heard
from inference.turn_taking import Floor, Patience

TOLD_EVERY_S = 1.0  # of audio: time that is asked for over and over is told once a second

Stroke = Literal["soft", "hard", "time_limit", "time_left", "ask", "nobody"]


class TurnClocks:
    """Told of what happens in order; `strike` says which clocks have struck since.

    `paused` from the soft commit until more is said. `over`: how sure a model is that the turn is.
    """

    def __init__(self, floor: Floor, limit_s: float, onset_s: float | None) -> None:
        self._floor, self._config = floor, floor.config
        self._limit_s, self._onset_s = limit_s, onset_s
        self._warned = False
        self._held = False
        self._quiet_from_s = 0.0  # silence before it was asked for, or answered to
        self._thinking_until_s = 0.0
        self.asked = 0
        self.paused = False
        self.over: float | None = None

    @property
    def left_s(self) -> float:
        """What is left of the time limit when "time_left" strikes."""
        return round(self._limit_s * (1 - self._config.warn_at), 3)

    def speaks(self, at_s: float, since_s: float | None, preroll_s: float = 0.0) -> None:
        """Speech begins at `at_s`, its voice `preroll_s` later; the last voice ended at `since_s`, if any."""
        if self._onset_s is None:
            self._onset_s = at_s
        elif since_s is not None and self._quiet_from_s <= since_s:
            self._floor.own.went_on(at_s + preroll_s - since_s)  # a silence that was asked for is no habit
        self._thinking_until_s = 0.0
        self.asked, self.paused, self.over = 0, False, None

    @property
    def waiting(self) -> bool:
        """The score stands, or time to think was given: more words end it."""
        return self.paused or self._thinking_until_s > 0.0

    def think(self, at_s: float) -> float:
        """No clock strikes for a while. Returns until when."""
        return self.wait(at_s + self._config.thinking_s)

    def wait(self, until_s: float) -> float:
        """No clock strikes before, and silence counts from then on."""
        self._thinking_until_s = until_s
        return self.here(until_s)

    def here(self, at_s: float) -> float:
        """Somebody is there: silence counts from now on. Returns from when."""
        self._quiet_from_s, self.asked = at_s, 0
        return at_s

    def hold(self, held: bool) -> None:
        """While the speaker talks with a key held, silence never ends the turn."""
        self._held = held

    def strike(self, heard: Heard, said: str | None) -> Iterator[Stroke]:
        """`said` None: the words of this pause are not known yet."""
        if self._onset_s is not None:
            talked_s = heard.at_s - self._onset_s
            if talked_s >= self._limit_s:
                yield "time_limit"
                return
            if talked_s >= self._limit_s - self.left_s and not self._warned:
                self._warned = True
                yield "time_left"
        if heard.speaking or heard.at_s < self._thinking_until_s:
            return
        if said and heard.speech_end_s is not None:
            yield from self._commit(heard.silence_s, said)
        yield from self._ask(heard)

    def _commit(self, silence_s: float, said: str) -> Iterator[Stroke]:
        waits = self._patience(said)
        if not self.paused and silence_s >= waits.soft_s:
            self.paused = True
            yield "soft"
        if silence_s >= waits.hard_s and not self._held:
            yield "hard"

    def _patience(self, said: str) -> Patience:
        waits = self._floor.patience(said, self.over)
        return Patience(self._config.held_soft_s, waits.hard_s) if self._held else waits

    def _ask(self, heard: Heard) -> Iterator[Stroke]:
        quiet_s = heard.at_s - max(heard.speech_end_s or 0.0, self._quiet_from_s)
        if quiet_s < self._config.ask_after_s * (self.asked + 1):
            return
        self.asked += 1
        yield "ask" if self.asked == 1 else "nobody"
