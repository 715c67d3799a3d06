"""Which of the two interview languages a text is in, and one script for Chinese.

Knows scripts and function words, nothing of questions or scores.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from inference.assessment import Language
from inference.nlp.lexicon import phrases

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_LATIN_WORD = re.compile(r"[a-z\u00c0-\u024f]+(?:['’][a-z]+)*", re.IGNORECASE)
_OTHER_SCRIPT = re.compile(r"[\u0370-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af]")
_ENGLISH = frozenset(
    phrases(
        "a|about|after|all|also|an|and|any|are|as|at|be|because|been|before|but|by|can|could|did|do|"
        "every|few|for|from|get|had|has|have|he|her|him|his|how|i|if|in|into|is|it|its|me|more|my|no|"
        "not|of|on|one|or|our|out|own|she|so|some|than|that|the|their|them|then|there|they|this|to|up|"
        "us|was|we|were|what|when|which|who|will|with|would|yes|you|your|i'm|i've|i'd|it's|don't|that's"
    )
)
_COMMON_HAN = frozenset(
    "的了我在是有和不这个们一到就也都把来去上下为以对时后前用从个做能会要说没很大多年月天中与他她它你过还"
    "可所于其里得着自己那什么因为人看想让给被将已再又最但而并或如果问题每次"
)


class _Converter(Protocol):
    def convert(self, text: str) -> str: ...


@lru_cache(maxsize=1)
def _converter() -> _Converter:
    # Loaded late: interviews held in English never need its dictionaries.
    import opencc  # noqa: PLC0415

    converter: _Converter = opencc.OpenCC("t2s")
    return converter


def to_simplified(text: str) -> str:
    """Traditional Chinese characters become simplified ones; text without Chinese comes back as it is."""
    if text.isascii() or not _HAN.search(text):
        return text
    return _converter().convert(text)


def han_count(text: str) -> int:
    return len(_HAN.findall(text))


def detect(text: str) -> Language:
    """The language that carries the sentence: Chinese with English terms is Chinese."""
    if text.isascii():
        return "en"
    han = han_count(text)
    # A Latin word weighs about as much as two characters; terms alone do not make a sentence English.
    latin = len(_LATIN_WORD.findall(text))
    return "zh" if han > latin or (han >= 4 and han * 2 > latin) else "en"


def english_share(text: str) -> float:
    """Share of Latin words that are English function words; real English prose has 0.3 or more."""
    found = [word.lower().replace("’", "'") for word in _LATIN_WORD.findall(text)]
    return sum(word in _ENGLISH for word in found) / len(found) if found else 0.0


def common_han_share(text: str) -> float:
    """Share of Chinese characters that are among the most frequent; real prose has 0.2 or more."""
    found = _HAN.findall(text)
    return sum(char in _COMMON_HAN for char in found) / len(found) if found else 0.0


def latin_words(text: str) -> list[str]:
    return _LATIN_WORD.findall(text)


def other_script_share(text: str) -> float:
    """Share of letters in scripts of neither language (kana, Hangul, Cyrillic, Arabic …)."""
    if text.isascii():
        return 0.0
    letters = sum(char.isalpha() for char in text)
    return len(_OTHER_SCRIPT.findall(text)) / letters if letters else 0.0
