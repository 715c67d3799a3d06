"""Which part of a growing guess will stand: what two guesses in a row agree on (LocalAgreement-2).

Macháček et al. 2023 (arXiv 2307.14743). Knows text only; no audio, no engine.
"""

from __future__ import annotations

import re

# A unit is what may be compared: a word, or one Chinese character. Punctuation and case may still change.
_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)*")


class StablePrefix:
    """The agreement over the guesses of one answer; a new utterance number starts anew."""

    def __init__(self) -> None:
        self._utterance = 0
        self._last: list[str] = []

    def feed(self, utterance: int, text: str) -> int:
        """How many characters of `text`, from its start, were guessed the same the last time."""
        if utterance != self._utterance:
            self._utterance, self._last = utterance, []
        found = list(_UNIT.finditer(text))
        heard = units(text)
        stable = _common_prefix(self._last, heard)
        self._last = heard
        return found[stable - 1].end() if stable else 0


def units(text: str) -> list[str]:
    return [unit.lower() for unit in _UNIT.findall(text)]


def _common_prefix(first: list[str], second: list[str]) -> int:
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))
