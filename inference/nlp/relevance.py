"""How far an answer is about its question: expected points first, else shared words and shared topics.

Doubt speaks for the speaker: without a sign of another topic an answer counts as on topic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from inference.assessment import QuestionSpec
from inference.nlp import lexicon_en as en
from inference.nlp.clauses import words_of
from inference.nlp.folding import fold
from inference.nlp.language import to_simplified
from inference.nlp.lexicon import phrases
from inference.nlp.question import Form
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
_SHORTEST_JUDGED_WORDS = 7
_LEAST_CONTENT = 4
_NARROW = frozenset(("conflict", "failure", "customer", "leadership"))
_ASKING_WORDS = frozenset(
    phrases(
        "tell|describe|give|example|time|situation|walk|through|explain|share|talk|question|please|"
        "thing|something|lot|kind|way|hard|difficult|biggest|greatest|last|first|current|previous|"
        "recent|would|design|difference|between|many|much|years|used|using|use|want|work|like|make|made|"
        "handle|public|good|best|worst|most|important|solved|dealt|faced|experience|someone|people"
    )
)
_ASKING_HAN = re.compile(
    r"请问?|讲|说说?|谈谈?|描述|介绍|举例|说明|一[个次件段下]|你|是|如何|怎么样?|怎样|什么|为什么|有没有|哪些|哪个|的|过|最|了|吗|呢|和|与|在|有|经历|例子|问题|时候|设计|一|请|现在|我们|公司|想"
)


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
    asked = fold(question.text[:600]).text
    signs = _signs(asked, question, text)
    covered = tuple(point for point in question.expected_points if _covers(text, point))
    missing = tuple(point for point in question.expected_points if point not in covered)
    off_topic = not covered and _off_topic(signs, form)
    misses = not off_topic and not covered and _misses(signs, form)
    value = _off_value(signs) if off_topic else _on_value(signs, form)
    if misses:
        value = ON_TOPIC - 0.05 if told else ON_TOPIC
    if question.expected_points and not off_topic:
        share = len(covered) / len(question.expected_points)
        value = max(ON_TOPIC if covered else 0.4, 0.35 * value + 0.65 * share)
    return Relevance(round(min(value, 1.0), 2), off_topic, covered, missing, signs.topic_hits, misses)


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


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A crude English stem: enough for limiter / limit / limits / limited to meet."""
    for ending in ("ations", "ation", "ings", "ing", "ers", "er", "ies", "ied", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content_stems(text: str) -> set[str]:
    """Stems of English content words and pairs of Chinese characters."""
    latin = [word for word in words_of(text) if word[0].isascii() and word[0].isalpha()]
    stems = {
        stem(word)
        for word in latin
        if word not in en.FUNCTION_WORDS and word not in _ASKING_WORDS and len(word) > 1
    }
    for run in re.findall(r"[\u3400-\u9fff]{2,}", _ASKING_HAN.sub(" ", text)):
        stems |= {run[at : at + 2] for at in range(len(run) - 1)}
    return stems


def _shared(asked: str, text: str) -> float:
    """Share of the question's content words that come back in the answer."""
    wanted = content_stems(asked)
    return len(wanted & _answer_stems(text)) / len(wanted) if wanted else 0.0


def _answer_stems(text: str) -> set[str]:
    stems = {stem(word) for word in words_of(text) if word[0].isascii()}
    for run in re.findall(r"[\u3400-\u9fff]{2,}", text):
        stems |= {run[at : at + 2] for at in range(len(run) - 1)}
    return stems


def _covers(text: str, point: str) -> bool:
    wanted = content_stems(fold(point[:200]).text)
    return bool(wanted) and len(wanted & _answer_stems(text)) * 2 >= len(wanted)


def _off_topic(signs: _Signs, form: Form) -> bool:
    if signs.words < _SHORTEST_JUDGED_WORDS or signs.content < _LEAST_CONTENT or signs.shared >= 0.34:
        return False
    at_home = (
        signs.leisure >= 2
        and signs.leisure > signs.work + signs.technical // 2
        and signs.leisure >= signs.topic_hits
    )
    if form in ("design", "explain"):
        return (
            signs.technical == 0 or at_home or (signs.technical <= 1 and signs.work >= 3 and not signs.shared)
        )
    return at_home or _impersonal(signs)


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
