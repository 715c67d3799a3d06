"""Expected points of a question: which of them an answer covers, in whatever words it does.

A point may name other words for itself in brackets: "measure first (profiler, tracing, logs)".
"""

# ruff: noqa: E501 - patterns are read entry by entry, in both languages

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from inference.nlp.folding import fold
from inference.nlp.question import Form
from inference.nlp.stems import answer_stems, content_stems

_LONGEST_POINT_CHARS = 300
_OTHER_WORDS = re.compile(r"\s*[((]([^()()]*)[))]\s*$")
_BETWEEN = re.compile(r"\s*[,，、;；/|]\s*")
# What a point of an experience asks for, as opposed to the words in which it may be told.
_PART_OF_A_STORY = re.compile(
    r"\b(?:situation|context|background|setting|task|goal|role|action|steps?|result|outcome|impact|example|reasons?|motivation|"
    r"mistake|lesson|learn\w*|you|your|yours|own|each other|both|how (?:it|this|that)|came of|number|ended)\b"
    r"|你|自己|双方|各自|情况|背景|起因|任务|目标|职责|行动|做法|步骤|措施|怎样|怎么|如何|结果|效果|收获|数字|理由|原因|例子|错误|教训|补救|改变|想学|想法"
)
_EITHER = re.compile(r"\bor\b|或者?|\|")
_JOINING = re.compile(r"以及|及其?|和|与|再|先|后|的|把|并")
PERSONAL: tuple[Form, ...] = ("story", "career", "approach", "motive", "follow_up")


@dataclass(frozen=True, slots=True)
class Points:
    """The points that are measured, split in two; as they are shown, without their other words."""

    covered: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def points_of(expected: tuple[str, ...], text: str, form: Form) -> Points:
    """For an experience or a motive only concrete points count: its parts are read by STAR, not by their names."""
    wanted = [point for point in expected if not (form in PERSONAL and _PART_OF_A_STORY.search(_head(point)))]
    if not wanted:
        return Points()
    stems = answer_stems(text)
    covered = [point for point in wanted if _covers(text, stems, point)]
    return Points(
        tuple(_head(point) for point in covered),
        tuple(_head(point) for point in wanted if point not in covered),
    )


@lru_cache(maxsize=512)
def _head(point: str) -> str:
    """The point itself, ready to stand inside a sentence."""
    return _OTHER_WORDS.sub("", point[:_LONGEST_POINT_CHARS]).strip(" .。?？!！") or point


def _covers(text: str, stems: set[str], point: str) -> bool:
    folded = fold(point[:_LONGEST_POINT_CHARS]).text
    bracket = _OTHER_WORDS.search(folded)
    if bracket and any(word and _says(text, word) for word in _BETWEEN.split(bracket[1])):
        return True
    return any(_said(stems, either) for either in _EITHER.split(_OTHER_WORDS.sub("", folded)))


def _said(stems: set[str], words: str) -> bool:
    """Half of an English point, or half of the words that a Chinese one joins."""
    pieces = [words] if words.isascii() else [piece for piece in _JOINING.split(words) if len(piece) > 1]
    held = [_half_said(stems, piece) for piece in pieces]
    return bool(held) and sum(held) * 2 >= len(held)


def _says(text: str, word: str) -> bool:
    """English words at their beginning ("profil" finds profiler), Chinese ones anywhere."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", text) is not None


def _half_said(stems: set[str], piece: str) -> bool:
    wanted = content_stems(piece)
    return bool(wanted) and len(wanted & stems) * 2 >= len(wanted)
