"""A text folded for matching (NFKC, lower case, one Chinese script, nothing invisible) that can be quoted.

Every folded character remembers where it came from, so a match is shown in the speaker's own characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from inference.nlp.language import to_simplified

# Letters of other alphabets that look Latin; used to slip orders past a filter.
_LOOKALIKES = str.maketrans("аеорсухіѕԁһοαν", "aeopcyxisdhoav")
_PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "—": "-", "–": "-"})
_TRIM = " \t\r\n,;:，；：、"
QUOTE_CHARS = 160

Span = tuple[int, int]


# Invisible marks, lone surrogates, accents that stand apart, private signs.
_DROPPED = frozenset(("Cf", "Cs", "Mn", "Co"))


@lru_cache(maxsize=8192)
def _fold_char(char: str) -> str:
    folded = unicodedata.normalize("NFKC", char).lower().translate(_PLAIN)
    return "".join(part for part in folded if unicodedata.category(part) not in _DROPPED)


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is for matching; `origin[i]` is the place in `original` that text[i] came from."""

    original: str
    text: str
    origin: tuple[int, ...]

    def quote(self, start: int, end: int) -> str:
        """The speaker's own characters behind text[start:end], without edge punctuation; "" when none."""
        text = self.text
        while start < end and text[start] in _TRIM:
            start += 1
        end = min(end, start + QUOTE_CHARS)
        while end > start and text[end - 1] in _TRIM:
            end -= 1
        if start >= end:
            return ""
        return self.original[self.origin[start] : self.origin[end - 1] + 1].strip(_TRIM)

    def first(self, chars: int) -> Folded:
        """At most `chars` folded characters (one character may unfold into eighteen)."""
        return (
            self if len(self.text) <= chars else Folded(self.original, self.text[:chars], self.origin[:chars])
        )

    def without(self, spans: Iterable[Span], filling: str = "") -> Folded:
        """The same text with `spans` replaced by `filling` (at most one character each)."""
        text: list[str] = []
        origin: list[int] = []
        at = 0
        for start, end in _merged(spans):
            text.append(self.text[at:start] + filling)
            origin.extend(self.origin[at:start])
            origin.extend(self.origin[start : start + len(filling)])
            at = end
        text.append(self.text[at:])
        origin.extend(self.origin[at:])
        return Folded(self.original, "".join(text), tuple(origin))


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def fold(original: str) -> Folded:
    """Fold a text; ASCII costs next to nothing."""
    if original.isascii():
        return Folded(original, original.lower(), tuple(range(len(original))))
    pieces: list[str] = []
    origin: list[int] = []
    for index, char in enumerate(original):
        folded = _fold_char(char)
        pieces.append(folded)
        origin.extend([index] * len(folded))
    text = _latin_lookalikes("".join(pieces))
    simplified = to_simplified(text)
    # A conversion that changes the length would break the way back to the original.
    return Folded(original, simplified if len(simplified) == len(text) else text, tuple(origin))


def _latin_lookalikes(text: str) -> str:
    swapped = text.translate(_LOOKALIKES)
    if swapped == text:
        return text
    # Only words that mix alphabets are disguises; a word all in Cyrillic is simply another language.
    words = zip(text.split(" "), swapped.split(" "), strict=True)
    return " ".join(
        after if any("a" <= char <= "z" for char in before) else before for before, after in words
    )
