"""Names that a recogniser misheard, put right by their sound; what it wrote is kept beside them.

A word that the language knows and that was heard surely is never touched, and no text comes of silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from inference.assessment import Word
from inference.nlp.language import to_simplified
from inference.ports import Transcript
from inference.terms import pinyin, sounds
from inference.terms.chinese import has_han, is_han, punctuated
from inference.terms.lexicon import is_joining, is_ordinary, is_word

UNSURE_BELOW = 0.5
NEARLY_SURE = 0.9
# How alike a span must sound, by what speaks against the span being right as it is.
ALIKE_STRANGE_UNSURE, ALIKE_STRANGE, ALIKE_ORDINARY, ALIKE_SHORT = 0.62, 0.78, 0.9, 0.9
ALIKE_LOAN = 0.85  # a foreign name written in Chinese characters
SHORT_WEIGHT, LEAST_WEIGHT = 3.0, 2.0
LONGEST_SPAN = 4  # words
A_GUESS_BELOW = 0.25  # the whole text: what the recogniser writes over noise
LONGEST_LOAN = 5  # characters that write a foreign name by its sound
_TOKEN = re.compile(r"[^\W_㐀-鿿](?:[^\W_㐀-鿿]|[+#])*(?:[-.'’/](?:[^\W_㐀-鿿]|[+#])+)*")
_APART = re.compile(r"[ \-]+")  # what may lie between the words of one name


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    letters: str  # as compared for spelling
    sound: str  # "" for one in Chinese characters
    weight: float


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    end: int
    ordinary: bool


@dataclass(frozen=True, slots=True)
class _Change:
    """Characters [start, end) that are the term. `likeness` ranks changes that overlap."""

    start: int
    end: int
    term: str
    likeness: float


def corrected(transcript: Transcript, terms: Sequence[str]) -> Transcript:
    """The same with the terms as they are written, Chinese simplified and ended with a mark.

    `raw` is what the engine wrote, "" where that is the same; each corrected word has its own in `heard`.
    """
    if not transcript.text:
        return transcript
    simple = _simplified(transcript)
    fixed = _fixed(simple, _terms_of(tuple(terms)))
    text = punctuated(fixed.text) if fixed.language == "zh" else fixed.text
    return replace(fixed, text=text, raw="" if text == transcript.text else transcript.text)


def _simplified(transcript: Transcript) -> Transcript:
    if not has_han(transcript.text):
        return transcript
    words = tuple(replace(word, text=to_simplified(word.text)) for word in transcript.words)
    return replace(transcript, text=to_simplified(transcript.text), words=words)


@lru_cache(maxsize=64)
def _terms_of(terms: tuple[str, ...]) -> tuple[_Term, ...]:
    return tuple(_term(text) for text in terms)


def _term(text: str) -> _Term:
    heard = "" if has_han(text) else sounds.sound(text)
    return _Term(text, _letters(text), heard, sounds.weight(heard))


def _letters(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum() or char in "+#")


def _fixed(transcript: Transcript, terms: tuple[_Term, ...]) -> Transcript:
    if not terms or transcript.confidence < A_GUESS_BELOW:
        return transcript
    heard = _Heard(transcript)
    changes = _chosen(heard, terms)
    return heard.changed(changes) if changes else transcript


class _Heard:
    """A transcript with what is known of each stretch of its text."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript, self.text = transcript, transcript.text
        self.places: list[tuple[int, int, Word]] = []
        at = 0
        for word in transcript.words:
            found = self.text.find(word.text, at)
            start = at if found < 0 else found  # one that the text lacks has no room in it
            at = at if found < 0 else found + len(word.text)
            self.places.append((start, at, word))
        self._known, self._sure = self._sums()
        self.tokens = [
            _Token(found[0], found.start(), found.end(), is_ordinary(found[0]))
            for found in _TOKEN.finditer(self.text)
        ]

    def confidence(self, start: int, end: int) -> float:
        """Of these characters, each as sure as its word; the transcript's own where no word is known."""
        known = self._known[end] - self._known[start]
        return (self._sure[end] - self._sure[start]) / known if known else self.transcript.confidence

    def spans(self) -> Iterator[Sequence[_Token]]:
        """Runs of up to four words with nothing but spaces and hyphens between them."""
        for first in range(len(self.tokens)):
            for last in range(first, min(first + LONGEST_SPAN, len(self.tokens))):
                if last > first and not self._joined(self.tokens[last - 1], self.tokens[last]):
                    break
                yield self.tokens[first : last + 1]

    def changed(self, changes: Sequence[_Change]) -> Transcript:
        words: list[Word] = []
        for start, end, word in self.places:
            within = [one for one in changes if one.start < end and one.end > start]
            if not within:
                words.append(word)
            elif words and within[0].start < start:  # it goes on with the last one's name
                words[-1] = self._joined_words(words[-1], word, within, end)
            else:
                words.append(self._renamed(word, start, end, within))
        return replace(
            self.transcript, text=_replaced(self.text, 0, len(self.text), changes), words=tuple(words)
        )

    def _sums(self) -> tuple[list[int], list[float]]:
        """Up to each character: how many are some word's, and their confidences in sum."""
        sure: list[float | None] = [None] * len(self.text)
        for start, end, word in self.places:
            sure[start:end] = [word.confidence] * (end - start)
        known = accumulate((0 if one is None else 1 for one in sure), initial=0)
        return list(known), list(accumulate((one or 0.0 for one in sure), initial=0.0))

    def _joined(self, one: _Token, other: _Token) -> bool:
        return bool(_APART.fullmatch(self.text[one.end : other.start]))

    def _renamed(self, word: Word, start: int, end: int, changes: Sequence[_Change]) -> Word:
        text = _replaced(self.text, start, end, changes)
        return replace(word, text=text, heard=word.text if _letters(text) != _letters(word.text) else "")

    def _joined_words(self, one: Word, other: Word, changes: Sequence[_Change], end: int) -> Word:
        change = changes[0]
        was = self.text[change.start : end]
        tail = _replaced(self.text, min(change.end, end), end, changes)
        return Word(
            one.text + tail,
            one.start_s,
            other.end_s,
            round(min(one.confidence, other.confidence), 3),
            was if _letters(was) != _letters(one.text + tail) else "",
        )


def _replaced(text: str, start: int, end: int, changes: Sequence[_Change]) -> str:
    """text[start:end] with each name in the place of its first character."""
    out, at = [], start
    for one in changes:
        if one.end <= start or one.start >= end:
            continue
        out.append(text[at : max(at, one.start)])
        if one.start >= start:
            out.append(one.term)
        at = min(end, one.end)
    return "".join([*out, text[at:end]])


def _chosen(heard: _Heard, terms: Sequence[_Term]) -> list[_Change]:
    """The likeliest changes that do not overlap, in order; a term that is there already stands."""
    kept = list(_there(heard, terms))
    found = [*_misheard(heard, terms), *_mistaken(heard, terms)]
    taken: list[_Change] = [*kept]
    for change in sorted(found, key=lambda one: (-one.likeness, one.start)):
        if not any(one.start < change.end and one.end > change.start for one in taken):
            taken.append(change)
    changed = [one for one in taken if heard.text[one.start : one.end] != one.term]
    return sorted(changed, key=lambda one: one.start)


def _there(heard: _Heard, terms: Sequence[_Term]) -> Iterator[_Change]:
    """Terms that were heard, perhaps written otherwise; an English word that was surely heard stays."""
    spelt = {term.letters: term for term in terms if term.sound}
    for span in heard.spans():
        start, end = span[0].start, span[-1].end
        written = heard.text[start:end]
        term = spelt.get(_letters(written))
        if term is not None:
            own = _is_plain(term.text) or _is_own(span, term, heard.confidence(start, end))
            yield _Change(start, end, written if own else term.text, 1.0)
    for term in terms:
        if not term.sound:
            for at in re.finditer(re.escape(term.text), heard.text):
                yield _Change(at.start(), at.end(), term.text, 1.0)


def _is_plain(term: str) -> bool:
    """A common word, whose case the sentence decides."""
    return term.islower() and term.isalpha()


def _is_own(span: Sequence[_Token], term: _Term, sure: float) -> bool:
    """Whether the span is English of its own that is merely spelt like the term."""
    english = all(is_word(token.text) for token in span)
    return english and (sure >= UNSURE_BELOW or term.weight < SHORT_WEIGHT)


def _misheard(heard: _Heard, terms: Sequence[_Term]) -> Iterator[_Change]:
    """Latin words that sound like a term."""
    for span in heard.spans():
        if is_joining(span[0].text) or is_joining(span[-1].text):
            continue
        start, end = span[0].start, span[-1].end
        strange = not all(token.ordinary for token in span)
        unsure = heard.confidence(start, end) < UNSURE_BELOW
        if not strange and not unsure:
            continue
        written = heard.text[start:end]
        needed = _needed(strange, unsure, spelt_out=written.isupper())
        said, doubtful = sounds.sound(written), strange and unsure
        for term in terms:
            alike = _alike(said, term)
            if alike >= needed and (term.weight >= SHORT_WEIGHT or (alike >= ALIKE_SHORT and doubtful)):
                yield _Change(start, end, term.text, alike)


def _alike(said: str, term: _Term) -> float:
    """0.0 where the first sounds differ: a name is seldom misheard there."""
    if term.weight < LEAST_WEIGHT or not said or said[0] != term.sound[0]:
        return 0.0
    return min(0.99, sounds.likeness(said, term.sound))


def _needed(strange: bool, unsure: bool, *, spelt_out: bool) -> float:
    if not strange or (spelt_out and not unsure):
        return ALIKE_ORDINARY
    return ALIKE_STRANGE_UNSURE if unsure else ALIKE_STRANGE


def _mistaken(heard: _Heard, terms: Sequence[_Term]) -> Iterator[_Change]:
    """Chinese characters that sound like a term, which may itself be a foreign name."""
    if not has_han(heard.text):
        return
    for term in terms:
        if term.sound:
            yield from _loans(heard, term)
        elif len(term.text) >= 2 and all(is_han(char) for char in term.text):
            yield from _homophones(heard, term.text)


def _homophones(heard: _Heard, term: str) -> Iterator[_Change]:
    for start, end in _runs(heard.text, len(term)):
        written, sure = heard.text[start:end], heard.confidence(start, end)
        same = pinyin.same_sound(written, term)
        # Two syllables are the sound of many words: only doubt makes one of them the term.
        limit = NEARLY_SURE if same and len(term) > 2 else UNSURE_BELOW
        if sure < limit and (same or pinyin.like_sound(written, term)):
            yield _Change(start, end, term, 0.98 if same else 0.9)


def _loans(heard: _Heard, term: _Term) -> Iterator[_Change]:
    if term.weight < SHORT_WEIGHT:
        return
    for length in range(2, LONGEST_LOAN + 1):
        for start, end in _runs(heard.text, length):
            if heard.confidence(start, end) >= UNSURE_BELOW:
                continue
            syllables = pinyin.in_latin(heard.text[start:end])
            alike = _alike("".join(map(sounds.sound, syllables)), term)
            if alike >= ALIKE_LOAN:
                yield _Change(start, end, term.text, alike)


def _runs(text: str, length: int) -> Iterator[tuple[int, int]]:
    for start in range(len(text) - length + 1):
        if all(is_han(char) for char in text[start : start + length]):
            yield start, start + length
