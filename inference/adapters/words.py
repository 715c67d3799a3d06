"""From the model's aligned pieces to words as people write them. Knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from inference.assessment import Language, Word

SHORT_WORD_S = 0.15
LONGEST_WORD_S = 1.5  # the alignment may stretch the last word over what was left out


class Piece(NamedTuple):
    """A run of tokens: its text with the space before it, its span in seconds, its probability."""

    text: str
    start_s: float
    end_s: float
    probability: float


def words_from(pieces: list[Piece], language: Language, length_s: float) -> tuple[Word, ...]:
    """English: what has no space before it is of the word before. Chinese: marks and Latin letters are."""
    joined: list[Piece] = []
    for piece in pieces:
        if not piece.text.strip():
            continue
        if joined and _continues(joined[-1].text, piece.text, language):
            joined[-1] = _join(joined[-1], piece)
        else:
            joined.append(piece)
    return tuple(_word(piece, length_s) for piece in _without_lead(joined))


def wordless_s(words: Sequence[Word], voice_end_s: float | None) -> float:
    """How long there is no word at the beginning or at the end of the voice; 0.0 where that is not known."""
    if not words or voice_end_s is None:
        return 0.0
    last = words[-1]
    return max(words[0].start_s, voice_end_s - min(last.end_s, last.start_s + LONGEST_WORD_S))


def _continues(before: str, text: str, language: Language) -> bool:
    if text.startswith(" "):
        return False
    return language == "en" or not _says(text) or (_latin(before[-1]) and _latin(text[0]))


def _join(first: Piece, second: Piece) -> Piece:
    """A mark adds its shape only: neither its time nor its probability is the word's."""
    if not _says(second.text):
        return first._replace(text=first.text + second.text)
    probability = (first.probability + second.probability) / 2
    return Piece(first.text + second.text, first.start_s, second.end_s, probability)


def _says(text: str) -> bool:
    return any(char.isalnum() or char == "%" for char in text)


def _latin(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _without_lead(pieces: list[Piece]) -> list[Piece]:
    """The alignment gives the silence before the first word to it: cut it to twice the usual length."""
    if not pieces:
        return pieces
    usual_s = median(piece.end_s - piece.start_s for piece in pieces)
    first = pieces[0]
    start_s = max(first.start_s, first.end_s - 2 * max(usual_s, SHORT_WORD_S))
    return [first._replace(start_s=start_s), *pieces[1:]]


def _word(piece: Piece, length_s: float) -> Word:
    return Word(
        piece.text.strip(),
        round(min(piece.start_s, length_s), 2),
        round(min(piece.end_s, length_s), 2),
        round(piece.probability, 3),
    )
