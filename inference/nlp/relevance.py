"""How far an answer is about its question: expected points first, else shared words and shared topics.

Doubt speaks for the speaker: without a sign of another topic an answer counts as on topic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from inference.assessment import QuestionSpec
from inference.nlp.clauses import words_of
from inference.nlp.folding import fold
from inference.nlp.language import to_simplified
from inference.nlp.points import PERSONAL, Points, points_of
from inference.nlp.question import Form, kind_and_form
from inference.nlp.stems import answer_stems, content_stems
from inference.nlp.topics import (
    LEISURE_EN,
    LEISURE_ZH,
    TECHNICAL_EN,
    TECHNICAL_ZH,
    TOPICS,
    WORK_EN,
    WORK_ZH,
    Topic,
)

ON_TOPIC = 0.5
_SHARES = 0.34  # of the question's content words: this many, and the answer is about it
_DIRECTLY_ASKED = 0.12
_LONGEST_QUESTION_CHARS = 600
_SHORTEST_JUDGED_WORDS = 7
_LEAST_CONTENT = 4
_NARROW = frozenset(("conflict", "failure", "customer", "leadership"))


@dataclass(frozen=True, slots=True)
class Relevance:
    """`value` 0-1. `covered` and `missing` list the expected points, when the question has any."""

    value: float
    off_topic: bool
    covered: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    topic_hits: int = 0
    misses_topic: bool = False


@dataclass(frozen=True, slots=True)
class _Signs:
    shared: float
    asked: tuple[Topic, ...]
    topic_hits: int
    technical: int
    work: int
    leisure: int
    words: int
    content: int
    personal: bool


_PERSONAL = re.compile(r"\b(?:i|we|my|our|me|us|i'd|i've|i'm)\b|我|咱|本人")


def relevance_of(question: QuestionSpec, text: str, form: Form, told: bool) -> Relevance:
    """`told`: the answer holds an act, so what it is about can be known."""
    signs = _signs(fold(question.text[:_LONGEST_QUESTION_CHARS]).text, question, text)
    if form == "follow_up":
        return _of_follow_up(question, text, signs)
    points = points_of(question.expected_points, text, form)
    off_topic = not points.covered and _off_topic(signs, form)
    misses = not off_topic and not points.covered and _misses(signs, form)
    value = _off_value(signs) if off_topic else _on_value(signs, form)
    if misses:
        value = ON_TOPIC - 0.05 if told else ON_TOPIC
    if not off_topic:
        value = _with_points(value, points, form)
    return Relevance(
        round(min(value, 1.0), 2), off_topic, points.covered, points.missing, signs.topic_hits, misses
    )


def _with_points(value: float, points: Points, form: Form) -> float:
    """Points decide a technical question; an experience, told in words of one's own, only gains by them."""
    if not points.covered and not points.missing:
        return value
    share = len(points.covered) / (len(points.covered) + len(points.missing))
    measured = max(ON_TOPIC if points.covered else 0.4, 0.35 * value + 0.65 * share)
    return max(value, measured) if form in PERSONAL else measured


def _of_follow_up(question: QuestionSpec, text: str, own: _Signs) -> Relevance:
    """About the follow-up or about its main question: only what misses both is off topic."""
    main = _signs(fold(question.follow_up_to[:_LONGEST_QUESTION_CHARS]).text, question, text)
    form = kind_and_form(replace(question, text=question.follow_up_to, follow_up_to=""))[1]
    off_topic = _at_home(own) and own.shared < _SHARES and _off_topic(main, form)
    value = max(_on_value(own, form), _on_value(main, form)) + _DIRECTLY_ASKED
    hits = max(own.topic_hits, main.topic_hits)
    return Relevance(
        round(_off_value(main) if off_topic else min(value, 0.97), 2), off_topic, topic_hits=hits
    )


def _signs(asked: str, question: QuestionSpec, text: str) -> _Signs:
    topics = tuple(topic for topic in TOPICS if topic.asked.search(asked))
    hits: set[str] = set()
    for topic in topics:
        hits |= set(topic.told_en.findall(text)) | set(topic.told_zh.findall(text))
    terms = sum(to_simplified(term.lower()) in text for term in question.terms)
    words = words_of(text)
    han = sum(1 for word in words if "\u3400" <= word <= "\u9fff")
    return _Signs(
        shared=min(1.0, _shared(asked, text) + 0.5 * min(terms, 2)),
        asked=topics,
        topic_hits=len(hits) + terms,
        technical=len(set(TECHNICAL_EN.findall(text)) | set(TECHNICAL_ZH.findall(text))) + terms,
        work=len(set(WORK_EN.findall(text)) | set(WORK_ZH.findall(text))),
        leisure=len(set(LEISURE_EN.findall(text)) | set(LEISURE_ZH.findall(text))),
        words=len(words) - han + han // 2,
        content=len(content_stems(text)),
        personal=_PERSONAL.search(text) is not None,
    )


def _shared(asked: str, text: str) -> float:
    """Share of the question's content words that come back in the answer."""
    wanted = content_stems(asked)
    return len(wanted & answer_stems(text)) / len(wanted) if wanted else 0.0


def _off_topic(signs: _Signs, form: Form) -> bool:
    if signs.words < _SHORTEST_JUDGED_WORDS or signs.content < _LEAST_CONTENT or signs.shared >= _SHARES:
        return False
    at_home = _at_home(signs)
    if form in ("design", "explain"):
        return (
            signs.technical == 0 or at_home or (signs.technical <= 1 and signs.work >= 3 and not signs.shared)
        )
    return at_home or _impersonal(signs)


def _at_home(signs: _Signs) -> bool:
    """About leisure more than about work."""
    return (
        signs.leisure >= 2
        and signs.leisure > signs.work + signs.technical // 2
        and signs.leisure >= signs.topic_hits
    )


def _impersonal(signs: _Signs) -> bool:
    """A lecture where an experience was asked for: no "I", no work, nothing of the question."""
    return (
        not signs.personal
        and not signs.shared
        and signs.topic_hits <= 1
        and signs.work <= 1
        and signs.words >= 9
    )


def _off_value(signs: _Signs) -> float:
    return min(0.3, 0.1 + 0.05 * (signs.topic_hits + signs.work))


def _on_value(signs: _Signs, form: Form) -> float:
    topical = min(1.0, 0.25 * signs.topic_hits)
    domain = signs.technical if form in ("design", "explain") else max(signs.technical, signs.work)
    value = ON_TOPIC + 0.22 * topical + 0.13 * min(1.0, domain / 3) + 0.15 * min(1.0, 2 * signs.shared)
    return min(value, 0.97)


def _misses(signs: _Signs, form: Form) -> bool:
    """Fluent, about work, yet nothing of the one thing asked for (a quarrel, a failure, a customer …)."""
    narrow = bool(signs.asked) and all(topic.name in _NARROW for topic in signs.asked)
    untouched = not signs.topic_hits and not signs.shared
    return form in ("story", "approach") and narrow and untouched and signs.words >= 12
