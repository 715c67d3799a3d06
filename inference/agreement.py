"""Which part of a growing guess will stand: what two guesses in a row agree on (LocalAgreement-2).

Macháček et al. 2023 (arXiv 2307.14743). Knows text only; no audio, no engine.
"""

from __future__ import annotations

import re

# A unit is what may be compared: a word, or one Chinese character. Punctuation and case may still change.
_UNIT = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)*")


class StablePrefix:
    """The agreement over the guesses of one answer; a new utterance number starts anew.

    Both methods return the guess as it is to be shown, and how many of its characters stand. What stood once
    is shown as it was, whatever a later guess says of it: only the final may change it.
    """

    def __init__(self) -> None:
        self._utterance = 0
        self._last: list[str] = []
        self._stood = ""

    def feed(self, utterance: int, text: str) -> tuple[str, int]:
        """What was guessed the same the last time stands."""
        before = self._last if utterance == self._utterance else []
        return self._show(utterance, text, _common_prefix(before, units(text)))

    def settle(self, utterance: int, text: str) -> tuple[str, int]:
        """A guess up to a pause, all of which stands."""
        return self._show(utterance, text, len(units(text)))

    def _show(self, utterance: int, text: str, agreed: int) -> tuple[str, int]:
        if utterance != self._utterance:
            self._utterance, self._stood = utterance, ""
        self._last = units(text)
        ends = [0, *(unit.end() for unit in _UNIT.finditer(text))]
        stood = len(units(self._stood))
        rest_from = ends[stood] if stood < len(ends) else len(text)
        shown = self._stood + text[rest_from:]
        if agreed > stood:
            self._stood = shown[: len(self._stood) + ends[agreed] - rest_from]
        return shown, len(self._stood)


def units(text: str) -> list[str]:
    return [unit.lower() for unit in _UNIT.findall(text)]


def _common_prefix(first: list[str], second: list[str]) -> int:
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))
