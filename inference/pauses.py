"""How long this speaker pauses and then goes on: a running mean and its spread. Knows no turn, no clock."""

from __future__ import annotations

from dataclasses import dataclass

PAUSE_S = 0.25  # shorter silences belong to words, not to thoughts (Goldman-Eisler 1968)
LONGEST_S = 4.0  # one long search for a word is no habit
WEIGHT = 0.25  # of the newest pause: a few are enough to know a slow speaker
KNOWN_FROM = 3
SPREADS = 5.0  # above the mean: pauses are log-normal, so their tail is long


@dataclass(slots=True)
class OwnPauses:
    """Told only of pauses that the speaker ended by going on: never of the time before the first word."""

    count: int = 0
    mean_s: float = 0.0
    spread_s: float = 0.0

    def went_on(self, after_s: float) -> None:
        if after_s < PAUSE_S:
            return
        pause_s = min(after_s, LONGEST_S)
        self.count += 1
        if self.count == 1:
            self.mean_s, self.spread_s = pause_s, pause_s / 2
            return
        self.spread_s += WEIGHT * (abs(pause_s - self.mean_s) - self.spread_s)
        self.mean_s += WEIGHT * (pause_s - self.mean_s)

    @property
    def long_s(self) -> float:
        """A pause that would be long for this speaker; 0.0 while too few are known."""
        return self.mean_s + SPREADS * self.spread_s if self.count >= KNOWN_FROM else 0.0

    @property
    def usual_s(self) -> float:
        return self.mean_s if self.count >= KNOWN_FROM else 0.0
