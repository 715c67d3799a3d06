"""When a quoted passage was said: exact text positions turned into word times. Knows no rows and no rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from inference.assessment import Word

# A word that the transcript lacks (script conversion, a cut-out phrase) must not match far ahead.
_LOOK_AHEAD_CHARS = 60


class TimedQuote(TypedDict):
    """A quote as stored. Times in seconds of the answer's audio, None where they are not known."""

    text: str
    start_s: float | None
    end_s: float | None


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word and the characters [start, end) that it fills in the transcript."""

    start: int
    end: int
    word: Word


def words_placed(transcript: str, words: Sequence[Word]) -> list[PlacedWord]:
    """Find each word in the transcript, in order. A word that is not there is left out."""
    placed, position = [], 0
    for word in words:
        text = word.text.strip()
        start = transcript.find(text, position, position + len(text) + _LOOK_AHEAD_CHARS) if text else -1
        if start < 0:
            continue
        position = start + len(text)
        placed.append(PlacedWord(start, position, word))
    return placed


def quotes_timed(transcript: str, words: Sequence[Word], quotes: Sequence[str]) -> list[TimedQuote]:
    """Each quote with the times of the words it covers; without times where no word can be found for it."""
    placed = words_placed(transcript, words)
    return [_timed(transcript, placed, quote) for quote in quotes]


def _timed(transcript: str, placed: Sequence[PlacedWord], quote: str) -> TimedQuote:
    start = transcript.find(quote) if quote else -1
    end = start + len(quote)
    said = [at.word for at in placed if at.start < end and at.end > start] if start >= 0 else []
    if not said:
        return TimedQuote(text=quote, start_s=None, end_s=None)
    return TimedQuote(text=quote, start_s=round(said[0].start_s, 2), end_s=round(said[-1].end_s, 2))
