"""Whether a follow-up builds on a name that was not surely heard: then it asks for the name first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inference.assessment import Answer, Word
from inference.nlp.language import detect
from inference.terms.chinese import has_han
from inference.terms.lexicon import is_word

UNSURE_BELOW = 0.5
_LATIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#]*(?:[-.'’/][A-Za-z0-9+#]+)*")
_ASKS = re.compile("did you say|你(刚才)?说的是", re.IGNORECASE)


def sure_of_names(follow_up: str, answer: Answer) -> str:
    """The follow-up, after the question whether the doubtful name in it is what was said."""
    if not follow_up or _ASKS.search(follow_up):
        return follow_up
    doubtful = next((name for name in _doubtful(answer) if _mentions(follow_up, name)), "")
    if not doubtful:
        return follow_up
    if detect(follow_up) == "zh":
        return f"你刚才说的是“{doubtful}”吗？{follow_up}"
    return f"Did you say “{doubtful}”? {follow_up}"


def _doubtful(answer: Answer) -> Iterator[str]:
    """Names in the answer that were put right or heard unsurely, longest first."""
    found = {name for word in answer.words if _is_unsure(word) for name in _names(word)}
    if answer.low_confidence:  # words without a place of their own come from a guess
        known = {name for word in answer.words for name in _latin_names(word.text)}
        found |= set(_latin_names(answer.text)) - known if answer.speech_s is not None else set()
    return iter(sorted(found, key=lambda name: (-len(name), name)))


def _is_unsure(word: Word) -> bool:
    return bool(word.heard) or word.confidence < UNSURE_BELOW


def _names(word: Word) -> Iterator[str]:
    if word.heard and has_han(word.text):
        yield word.text.strip("，。！？；：、,.!?;: ")
    yield from _latin_names(word.text)


def _latin_names(text: str) -> Iterator[str]:
    """No ordinary words: an unsure "the" changes nothing of what a question is about."""
    return (found[0] for found in _LATIN.finditer(text) if not is_word(found[0]) or _is_capital(found[0]))


def _is_capital(word: str) -> bool:
    return any(char.isupper() for char in word[1:])


def _mentions(text: str, name: str) -> bool:
    if has_han(name):
        return name in text
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text, re.IGNORECASE) is not None
