"""A transcript cut where words are unsure or audio is missing, for whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from apps.assessment.kept_answers import missing_of
from apps.assessment.word_times import PlacedWord, words_placed
from apps.interviews.models import Turn, Utterance
from inference.assessment import Word

UNSURE_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of the transcript. `unsure`: the recogniser was not certain of it. It wrote `heard` where
    words were put right.

    With `missing_s` it is no words at all, but the place of so much audio that was lost.
    """

    text: str
    unsure: bool = False
    start_s: float | None = None
    missing_s: float = 0.0
    heard: str = ""


def passages_of(turn: Turn) -> list[Passage]:
    """The transcript that was judged, cut where the recogniser's certainty changes or audio is missing."""
    rows = list(turn.utterances.all())
    decoded = [row for row in rows if row.decode == Utterance.Decode.FULL and row.text]
    spoken = decoded or [row for row in rows if row.decode == Utterance.Decode.LIVE]
    words = [word for row in spoken for word in _words(row)]
    passages = _cut(turn.transcript, words)
    holes = _holes(turn, words_placed(turn.transcript, [word for word, _ in words]))
    return [*_divided(passages, holes)] if holes else passages


def _holes(turn: Turn, words: Sequence[PlacedWord]) -> dict[int, Passage]:
    """What is missing by its place in the transcript: after the last word that was said before it."""
    holes: dict[int, Passage] = {}
    for missing in missing_of(turn):
        before = (at.end for at in words if at.word.start_s + at.word.end_s <= 2 * missing.at_s)
        place = max(before, default=0)
        seconds = missing.seconds + (holes[place].missing_s if place in holes else 0.0)
        holes[place] = Passage("", start_s=missing.at_s, missing_s=seconds)
    return holes


def _divided(passages: Sequence[Passage], holes: dict[int, Passage]) -> Iterator[Passage]:
    places, position = sorted(holes), 0
    for passage in passages:
        end, cut = position + len(passage.text), position
        while places and places[0] < end:
            place = places.pop(0)
            if place > cut:
                yield replace(passage, text=passage.text[cut - position : place - position])
            yield holes[place]
            cut = place
        yield replace(passage, text=passage.text[cut - position :])
        position = end
    yield from (holes[place] for place in places)


def _words(row: Utterance) -> list[tuple[Word, bool]]:
    """The words of an utterance with whether each is unsure; one without words counts as a single word."""
    words = [Word(**word) for word in row.words]
    if not words and row.text:
        words = [Word(row.text, row.start_s, row.end_s, row.confidence)]
    return [(word, row.low_confidence or word.confidence < UNSURE_BELOW) for word in words]


def _cut(transcript: str, words: Sequence[tuple[Word, bool]]) -> list[Passage]:
    marked = {id(word) for word, unsure in words if unsure or word.heard}
    passages, position = [], 0
    for placed in words_placed(transcript, [word for word, _ in words]):
        if id(placed.word) not in marked:
            continue
        if placed.start > position:
            passages.append(Passage(transcript[position : placed.start]))
        word = placed.word
        said = transcript[placed.start : placed.end]
        passages.append(Passage(said, not word.heard, word.start_s, heard=word.heard))
        position = placed.end
    if position < len(transcript):
        passages.append(Passage(transcript[position:]))
    return passages
