"""How Chinese characters sound, without tones: recognisers mistake characters, seldom their sound."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

_LISTED = Path(__file__).parent / "pinyin.txt"
# Pairs that many speakers do not tell apart.
_BLURRED = (
    (re.compile("^([zcs])h"), r"\1"),
    (re.compile("^n(?=[aeiouv])"), "l"),
    (re.compile("(?<=[aei])ng$"), "n"),
)
_AS_ENGLISH = (("zh", "j"), ("q", "ch"), ("x", "sh"), ("c", "s"), ("z", "s"))


def readings(char: str) -> frozenset[str]:
    """The everyday readings of a simplified character; none for a rare one."""
    return _table().get(char, frozenset())


def same_sound(one: str, other: str) -> bool:
    """Whether two runs of characters can be read the same."""
    return _paired(one, other, lambda a, b: bool(readings(a) & readings(b)))


def like_sound(one: str, other: str) -> bool:
    """Whether they can be mistaken for each other, with at least half of the syllables the same."""
    same = sum(bool(readings(a) & readings(b)) for a, b in zip(one, other, strict=False))
    return 2 * same >= len(one) and _paired(one, other, lambda a, b: bool(_blurred(a) & _blurred(b)))


def in_latin(chars: str) -> tuple[str, ...]:
    """Roughly what an English ear would write for each; nothing when a character is not known."""
    syllables = [min(readings(char), default="") for char in chars]
    return tuple(map(_as_english, syllables)) if all(syllables) else ()


def _paired(one: str, other: str, alike: Callable[[str, str], bool]) -> bool:
    return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))


def _as_english(syllable: str) -> str:
    for start, instead in _AS_ENGLISH:
        if syllable.startswith(start) and not syllable.startswith(("ch", "sh")):
            return instead + syllable[len(start) :]
    return syllable


@lru_cache(maxsize=4096)
def _blurred(char: str) -> frozenset[str]:
    return frozenset(_blur(syllable) for syllable in readings(char))


def _blur(syllable: str) -> str:
    for pattern, instead in _BLURRED:
        syllable = pattern.sub(instead, syllable)
    return syllable


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in _LISTED.read_text("utf-8").splitlines():
        syllable, _, chars = line.partition(" ")
        if not line.startswith("#"):
            for char in chars:
                found[char].add(syllable)
    return {char: frozenset(syllables) for char, syllables in found.items()}
