"""Where a long utterance may be cut: between words that two guesses in a row agree on (LocalAgreement-2).

Knows words, their times and the sound; no engine, no endpointing.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise

from inference.assessment import Word
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, WINDOW_S, WINDOW_SAMPLES

CUT_AFTER_S = 12.0  # of speech without a pause
KEEP_S = 2.0  # what is younger may still become another word
LEAST_S = 4.0  # a shorter piece has too little sense in it to be heard well
LOOK_S = 0.16  # the times of words are not surer than this
_CLAUSE_ENDS = ".!?,;:。！？，；："


def cut_at(before: Sequence[Word], now: Sequence[Word], length_s: float) -> float | None:
    """The middle of the longest gap between two agreed words, from the start of the speech."""
    agreed = now[: _agreed(before, now)]
    places = [_place(word, after) for word, after in pairwise(agreed)]
    fit = [place for place in places if LEAST_S <= place[-1] <= length_s - KEEP_S]
    return max(fit)[-1] if fit else None


def _place(word: Word, after: Word) -> tuple[float, bool, float]:
    """Best last: the gap, whether a clause ends there, and its middle."""
    gap_s = round(after.start_s - word.end_s, 1)
    return gap_s, word.text[-1:] in _CLAUSE_ENDS, (word.end_s + after.start_s) / 2


def quietest(pcm: bytes, near_s: float) -> float:
    """The middle of the quietest window within reach of `near_s`."""
    first = max(0, round((near_s - LOOK_S) / WINDOW_S))
    last = min(len(pcm) // BYTES_PER_SAMPLE // WINDOW_SAMPLES, round((near_s + LOOK_S) / WINDOW_S) + 1)
    if first >= last:
        return near_s
    at = min(range(first, last), key=lambda window: _energy(pcm, window))
    return (at + 0.5) * WINDOW_SAMPLES / SAMPLE_RATE


def _agreed(before: Sequence[Word], now: Sequence[Word]) -> int:
    for index, (one, other) in enumerate(zip(before, now, strict=False)):
        if _said(one) != _said(other):
            return index
    return min(len(before), len(now))


def _said(word: Word) -> str:
    """Punctuation and case may still change."""
    return "".join(char for char in word.text.lower() if char.isalnum())


def _energy(pcm: bytes, window: int) -> int:
    size = WINDOW_SAMPLES * BYTES_PER_SAMPLE
    samples = array("h", pcm[window * size : (window + 1) * size])
    return sum(sample * sample for sample in samples)
