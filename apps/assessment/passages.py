"""A transcript cut where the recogniser was not sure of its words, for whoever reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.assessment.word_times import words_placed
from apps.interviews.models import Turn, Utterance
from inference.assessment import Word

UNSURE_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of the transcript. `unsure`: the recogniser was not certain of these words."""

    text: str
    unsure: bool = False
    start_s: float | None = None


def passages_of(turn: Turn) -> list[Passage]:
    """The transcript that was judged, cut where the recogniser's certainty changes."""
    rows = list(turn.utterances.all())
    decoded = [row for row in rows if row.decode == Utterance.Decode.FULL and row.text]
    spoken = decoded or [row for row in rows if row.decode == Utterance.Decode.LIVE]
    words = [word for row in spoken for word in _words(row)]
    return _cut(turn.transcript, words)


def _words(row: Utterance) -> list[tuple[Word, bool]]:
    """The words of an utterance with whether each is unsure; one without words counts as a single word."""
    words = [Word(**word) for word in row.words]
    if not words and row.text:
        words = [Word(row.text, row.start_s, row.end_s, row.confidence)]
    return [(word, row.low_confidence or word.confidence < UNSURE_BELOW) for word in words]


def _cut(transcript: str, words: Sequence[tuple[Word, bool]]) -> list[Passage]:
    unsure_words = {id(word) for word, unsure in words if unsure}
    passages, position = [], 0
    for placed in words_placed(transcript, [word for word, _ in words]):
        if id(placed.word) not in unsure_words:
            continue
        if placed.start > position:
            passages.append(Passage(transcript[position : placed.start]))
        passages.append(Passage(transcript[placed.start : placed.end], True, placed.word.start_s))
        position = placed.end
    if position < len(transcript):
        passages.append(Passage(transcript[position:]))
    return passages
