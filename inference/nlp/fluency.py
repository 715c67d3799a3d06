"""Filler words by position, and pace. Delivery is shown apart: it never enters the score.

A demonstrative (那个旧系统), a verb (I like it) or an object (do you know that) is no filler.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re

from inference.assessment import Delivery, Language
from inference.nlp.folding import Folded, Span
from inference.nlp.language import han_count, latin_words

_SHORTEST_PACE_S = 1.0
_ENGLISH = re.compile(
    r"\b(?:u+m+|u+h+m*|e+r+m*|h+m+|mm+|uh-huh)\b"
    r"|(?=[wlro])(?:(?<=^)|(?<=[.!?,]\s))(?:well|like|right|okay|ok)(?=,)"
    r"|(?=[lahrb])(?<=,\s)(?:like|actually|literally|honestly|right|basically)(?=,)"
    r"|\b(?:basically|literally)\b"
    r"|\b(?:and|but|so|was|were|just) (like)(?=,|\s(?:i|we|he|she|they|it|you|really|um|uh|so)\b)(?!,? i'd)"
    r"|(?=you know)(?<!do )(?<!if )(?<!as )(?<!that )(?<!let )(?<!what )(?<!ones )(?<!things )(?<!people )(?<!when )(?<!how )"
    r"\byou know(?=,|\.|$|\s(?:i|we|it|the|um|uh|just|like|so|and|he|she|they|a|my|our)\b)(?!\s(?:the \w+ (?:i|we|he|she|they)|how|what|that|from)\b)"
    r"|(?=i mean)(?<!what )(?<!do )(?<!not )\bi mean\b(?! (?:that|it|to|by|business)\b)"
    r"|(?=i guess)(?:(?<=,\s)|(?<=^)|(?<=and\s)|(?<=like,\s))i guess\b"
    r"|(?=kind|sort)(?<!a )(?<!the )(?<!this )(?<!that )(?<!what )(?<!some )(?<!any )(?<!every )(?<!one )(?<!same )(?<!which )(?<!new )(?<!of )"
    r"\b(?:kind of|sort of|kinda|sorta)\b"
)
_FILLER_ZH = (
    r"(?:嗯+|呃+|额+|唔+|啊+|哦+|e+m+|那个+|这个+|就是说|就是|然后呢|然后|怎么说呢?|怎么讲呢?|反正|对吧|是吧|你知道吗?|"
    r"其实吧|那什么|嘛|这样子|的话)"
)
_PAUSE = r"[,，。.、…\s!！?？;；]"
_CHINESE_ALONE = re.compile(rf"(?:(?<=^)|(?<={_PAUSE}))({_FILLER_ZH}{{1,6}})(?={_PAUSE}|$)")
_ONE_FILLER_ZH = re.compile(_FILLER_ZH)
_CHINESE_RUNNING = re.compile(
    r"(?:嗯|呃|唔)+|e+m{2,}|(?:那个){2,}|(?:这个){2,}|(?:就是){2,}|(?:然后){2,}"
    r"|(?:(?<=嗯)|(?<=呃)|(?<=然后)|(?<=就是))(?:那个|这个)(?!\S{0,3}(?:项目|系统|问题|时候|人))|那个(?=就是|然后|我当时|怎么说|嗯|呃)"
    r"|就是说|怎么说呢"
)


def filler_spans(folded: Folded, language: Language) -> list[Span]:
    """Places of fillers in the folded text, in order, none overlapping."""
    text = folded.text
    spans = [_group_span(match) for match in _ENGLISH.finditer(text)]
    if language == "zh" or not text.isascii():
        for row in _CHINESE_ALONE.finditer(text):
            spans += [match.span() for match in _ONE_FILLER_ZH.finditer(text, *row.span(1))]
        spans += [match.span() for match in _CHINESE_RUNNING.finditer(text)]
    return _disjoint(spans)


def _group_span(match: re.Match[str]) -> Span:
    return match.span(1) if match.group(1) else match.span()


def _disjoint(spans: list[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(spans):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def without_fillers(folded: Folded, spans: list[Span]) -> Folded:
    """The words without their fillers, so that an "um" never hides what was said nor lowers a score."""
    return folded.without(_with_pauses(folded.text, start, end) for start, end in spans)


_PAUSE_MARKS = ",，、… "


def _with_pauses(text: str, start: int, end: int) -> Span:
    """The filler with the pause marks it brought: both of ", um," but none that ends a sentence."""
    after = end
    while after < len(text) and text[after] in _PAUSE_MARKS:
        after += 1
    before = start
    # Chinese keeps the mark before it: it is all that parts two clauses.
    if after > end and text[end] == "," and text[max(0, start - 2) : start].isascii():
        while before > 0 and text[before - 1] in _PAUSE_MARKS:
            before -= 1
    # Keep one space where two English words would otherwise run together.
    glued = before > 0 and after < len(text) and text[before - 1].isascii() and text[after].isascii()
    return (before, after - 1) if glued and text[after - 1] == " " else (before, after)


def delivery_of(text: str, fillers: int, speech_s: float | None, language: Language) -> Delivery:
    """Pace is words a minute (English) or characters a minute (Chinese, a Latin word counting as two)."""
    if speech_s is None or not speech_s >= _SHORTEST_PACE_S:
        return Delivery(fillers, None)
    latin = len(latin_words(text))
    units = latin if language == "en" else han_count(text) + 2 * latin
    return Delivery(fillers, round(units * 60 / speech_s, 1))
