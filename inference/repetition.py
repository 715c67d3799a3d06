"""Old text that comes again where hardly anything was said. Knows no engine."""

from __future__ import annotations

from inference.agreement import units

UNIT_S = 0.12  # nobody says a word, or a Chinese character, faster
HARDLY_S = 0.8  # more voice than this is no leftover of silence


def old_again(before: str, text: str, voiced_s: float) -> bool:
    """The end of what was said before, once more, in less time than it takes to say it."""
    heard, old = units(text), units(before)
    return len(heard) > 1 and old[-len(heard) :] == heard and voiced_s < min(HARDLY_S, UNIT_S * len(heard))
