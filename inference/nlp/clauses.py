"""Splits an answer into clauses, with or without punctuation, since speech recognition may give none.

Knows where clauses end in both languages, not what they say.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re
from dataclasses import dataclass

from inference.nlp.folding import Folded

MAX_CLAUSES = 400
MAX_CLAUSE_CHARS = 400
_PUNCTUATION = re.compile(
    r"[!?。！？；;\n…]+|(?<!\d)[,:，：]|[,:，：](?!\d)|\.(?=\s|$)|\.(?=[a-z\u4e00-\u9fff]{3})| - "
)
_STOPS = frozenset(".!?。！？；;\n…")
_SUBJECT = (
    r"(?:(?:i|i'd|i've|i'll|we|we'd|we've|he|she|they|it|there|everyone|nobody|"
    r"as|in|after|since|then|finally|eventually|no|not)\b"
    # A noun begins a clause only with a verb behind it: "and the window went", not "the crawler and the indexer".
    r"|(?:the|this|that|my|our|your|his|her|their|one)(?:\s[a-z'-]+){1,3}?\s"
    r"(?:was|were|is|are|had|has|went|fell|dropped|rose|grew|came|got|said|took|made|left|ran|[a-z]{2,}ed)\b)"
)
_ENGLISH_JOIN = re.compile(
    rf"\s(?=(?:and|but|so|because|while|whereas|which)\s(?:then\s|also\s|so\s|that\s)?{_SUBJECT}"
    r"|(?:so that|as a result|in the end|after that|after which|eventually|afterwards|since then|which meant|"
    r"and then|then i|then we|for example|within (?:a|one|two|the)|today i|today we|there i|in (?:twenty twenty|twenty nineteen)|if the|if a|if i|when the|i (?!would|will|could|had|was|am|have|think|like))"
    r"(?:\b|(?<=\s)))"
)
# "and | i rewrote" must break before "and" only; "what i did" not at all.
_CONNECTIVE = re.compile(
    r"\b(?:and|but|so|because|then|that|which|when|while|if|as|where|what|who|how|why|than|since|before|after|until|whether|first|first,|,)$"
)
_CHINESE_JOIN = re.compile(
    r"(?=然后|后来|最后|最终|(?<![试查算析询])结果(?!导向)|于是|所以|因此|接着|并且|但是|不过|因为|首先|其次|另外|随后|与此同时|"
    r"之后我|(?<![让由是叫请给和跟])我(?:负责|先|当时|把|就)|我们(?:提前|按时|当时)|第一个月|如果)"
)
_WORD = re.compile(r"[a-z][a-z'+#.-]*[a-z+#]|[a-z]|\d[\d.,]*|[\u3400-\u9fff]")
_CHINESE_MINIMUM = 6  # a join word closer than this to the last boundary starts no new clause


@dataclass(frozen=True, slots=True)
class Clause:
    """`start`, `end` are places in the folded text; `sentence` counts sentences from 0."""

    start: int
    end: int
    text: str
    sentence: int


def words_of(text: str) -> list[str]:
    """English words and numbers, and single Chinese characters."""
    return _WORD.findall(text)


def clauses_of(folded: Folded) -> tuple[Clause, ...]:
    """Clauses in order, at most MAX_CLAUSES; text between clauses is punctuation only."""
    text = folded.text
    clauses: list[Clause] = []
    sentence = at = 0
    for start, end in _breaks(text):
        _append(clauses, text, (at, start), sentence)
        sentence += bool(_STOPS.intersection(text[start:end])) and bool(clauses)
        at = end
    _append(clauses, text, (at, len(text)), sentence)
    return tuple(clauses[:MAX_CLAUSES])


def _append(clauses: list[Clause], text: str, span: tuple[int, int], sentence: int) -> None:
    for at in range(span[0], span[1], MAX_CLAUSE_CHARS):
        raw = text[at : min(span[1], at + MAX_CLAUSE_CHARS)]
        stripped = raw.strip()
        if stripped:
            start = at + raw.index(stripped)
            clauses.append(Clause(start, start + len(stripped), stripped, sentence))


def _breaks(text: str) -> list[tuple[int, int]]:
    breaks = [match.span() for match in _PUNCTUATION.finditer(text)]
    joins = [match.start() for match in _ENGLISH_JOIN.finditer(text)]
    breaks += [(at, at) for at in joins if not _CONNECTIVE.search(text, max(0, at - 9), at)]
    breaks.sort()
    if text.isascii():
        return breaks
    ends = [0, *(end for _, end in breaks)]
    joins = [match.start() for match in _CHINESE_JOIN.finditer(text)]
    return sorted(breaks + _far_joins(joins, ends))


def _far_joins(joins: list[int], ends: list[int]) -> list[tuple[int, int]]:
    """Join places at least _CHINESE_MINIMUM characters after the boundary before them."""
    kept: list[tuple[int, int]] = []
    index, last = 0, 0
    for join in joins:
        while index < len(ends) and ends[index] <= join:
            last = max(last, ends[index])
            index += 1
        if join - last >= _CHINESE_MINIMUM:
            kept.append((join, join))
            last = join
    return kept
