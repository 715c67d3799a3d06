"""How English spelling sounds, roughly, and how near two sounds are. Knows no words."""

from __future__ import annotations

import re
from functools import lru_cache

VOWEL = "a"
# Spelling to sound, in order: letters that are written for another sound, or for none.
_SPELT = tuple(
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"[^a-z0-9+#]", ""),
        (r"sequel", "sql"),
        (r"^(?:kn|gn|pn)", "n"),
        (r"^wr", "r"),
        (r"^ps", "s"),
        (r"^x", "s"),
        (r"tch", "C"),
        (r"sch", "sk"),
        (r"ch", "C"),
        (r"sh|(?<=[a-z])(?:ti|ci|si)(?=o|a)", "S"),
        (r"ph", "f"),
        (r"gh(?=t|$)", ""),
        (r"th", "t"),
        (r"dg(?=[eiy])|dj", "j"),
        (r"ck|q", "k"),
        (r"c(?=[eiy])", "s"),
        (r"c", "k"),
        (r"x", "ks"),
        (r"z", "s"),
        (r"(?<=[aeiouyw])h|(?<=[bcdgkprt])h", ""),
        (r"y(?=[aeiou])", "Y"),
        (r"[aeiouy]+w?", VOWEL),
        (r"(.)\1+", r"\1"),
    )
)
_VOWEL_COST, _NEAR_COST, _FAR_COST = 0.4, 0.5, 1.0
_NEAR = frozenset(
    frozenset(pair)
    for group in ("bpv", "dtk", "gkj", "vfw", "mn", "lr", "sS", "CSjt", "ks", "gr")
    for i, one in enumerate(group)
    for pair in (one + other for other in group[i + 1 :])
)


@lru_cache(maxsize=4096)
def sound(text: str) -> str:
    """One letter a consonant, `a` for any run of vowels; digits stay."""
    heard = text.lower()
    for pattern, instead in _SPELT:
        heard = pattern.sub(instead, heard)
    return heard


def weight(heard: str) -> float:
    """How much there is to tell a sound by: consonants count, vowels hardly."""
    return sum(_cost(letter) for letter in heard)


def likeness(one: str, other: str) -> float:
    """0.0-1.0 for two sounds; 1.0 when they are the same."""
    most = max(weight(one), weight(other))
    return max(0.0, 1.0 - _distance(one, other) / most) if most else 0.0


def _distance(one: str, other: str) -> float:
    row = [0.0]
    for letter in other:
        row.append(row[-1] + _cost(letter))
    for letter in one:
        diagonal, row[0] = row[0], row[0] + _cost(letter)
        for j, against in enumerate(other, 1):
            best = min(
                row[j] + _cost(letter), row[j - 1] + _cost(against), diagonal + _change(letter, against)
            )
            diagonal, row[j] = row[j], best
    return row[-1]


def _cost(letter: str) -> float:
    return _VOWEL_COST if letter == VOWEL else _FAR_COST


def _change(one: str, other: str) -> float:
    if one == other:
        return 0.0
    if one.isdigit() or other.isdigit():
        return 2 * _FAR_COST
    return _NEAR_COST if frozenset((one, other)) in _NEAR else _FAR_COST
