"""Which words a language or a trade knows anyway, so that none of them is taken for a misheard name."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

_HERE = Path(__file__).parent
_PLAIN = re.compile(r"[a-z]+(?:['’][a-z]+)?|\d[\d.,]*(?:%|st|nd|rd|th|s|x)?")
_ENDINGS = (
    *(("ies", ("y",)), ("es", ("", "e")), ("s", ("",)), ("ied", ("y",)), ("ed", ("", "e"))),
    *(("ing", ("", "e")), ("ly", ("",)), ("ers", ("", "e")), ("er", ("", "e"))),
)
_SHORTEST_STEM = 3
_DOUBLING = frozenset(("es", "ed", "ing", "er", "ers"))  # quizzes, running
# What joins words: no name begins or ends with one of these.
_JOINING = re.compile(
    "an?|the|and|or|but|so|if|of|to|in|on|at|by|for|with|from|as|into|over|than|that|which|who|is|are|was|were|"
    "be|been|has|have|had|do|did|does|we|i|you|he|she|it|they|my|our|your|his|her|its|their|this|these|those|"
    "then|also|just|not|no|use|used|uses|using|run|ran",
    re.IGNORECASE,
)


def is_ordinary(word: str) -> bool:
    """Whether it is English, a number, or a name of its own, in any case."""
    return word.lower() in names() or is_word(word)


@lru_cache(maxsize=4096)
def is_word(word: str) -> bool:
    """Whether it is English, also with a regular ending, or a number."""
    low = word.lower()
    if not _PLAIN.fullmatch(low):
        return False
    bare = re.split(r"['’]", low)[0]
    return low[0].isdigit() or _is_english(low) or _is_english(bare)


def is_joining(word: str) -> bool:
    return _JOINING.fullmatch(word) is not None


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """Names of products and techniques, in lower case."""
    return frozenset(_listed("names.txt").lower().split())


def _is_english(word: str) -> bool:
    known = _words()
    return word in known or any(_is_english(stem) for stem in _stems(word))


def _stems(word: str) -> list[str]:
    stems = []
    for ending, instead in _ENDINGS:
        stem = word[: -len(ending)]
        if not word.endswith(ending) or len(stem) < _SHORTEST_STEM:
            continue
        stems += [stem + letter for letter in instead]
        if ending in _DOUBLING and len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2]:
            stems.append(stem[:-1])
    return stems


@lru_cache(maxsize=1)
def _words() -> frozenset[str]:
    return frozenset(_listed("words_en.txt").split())


def _listed(file: str) -> str:
    lines = (_HERE / file).read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))
