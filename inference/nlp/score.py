"""The rule engine's one entry: an answer in, a whole assessment out. Pure, deterministic, in milliseconds.

Knows no model, no session and no clock; the same rules bound what a language model says.
"""

from __future__ import annotations

from inference.assessment import STAR_NAMES, Answer, Assessment, Delivery, QuestionSpec, StarPart
from inference.nlp.caps import LIMITS, CapName, caps_of, flags_of
from inference.nlp.dimensions import WEIGHTS, Reading, dimensions_of
from inference.nlp.features import Features, features_of
from inference.nlp.fluency import delivery_of
from inference.nlp.language import to_simplified
from inference.nlp.question import kind_and_form
from inference.nlp.weakness import biggest
from inference.nlp.wording import follow_up_text, phrases_for, topic_quote, weakness_text, with_comments

_UNSURE_WORD = 0.4
_UNSURE_SHARE = 0.25


def assess(answer: Answer) -> Assessment:
    """Judge one answer. `score` is None only when nothing was said; texts are in the question's language."""
    if not any(char.isalnum() for char in answer.text):
        return _no_answer(answer)
    features = features_of(answer)
    readings = dimensions_of(features)
    caps = caps_of(features)
    mean = _mean(features, readings)
    issue, weakest = biggest(features, readings, caps, mean)
    unsure = answer.low_confidence or _unsure(answer)
    # Never build on a word that may not have been said.
    quote = "" if unsure else topic_quote(features, issue)
    return Assessment(
        score=_bounded(mean, caps),
        weakness=weakness_text(features, issue, quote),
        dimensions=with_comments(features, readings),
        star=features.star,
        quantified=features.quantified,
        relevance=_relevance(features),
        delivery=delivery_of(answer.text, features.fillers, answer.speech_s, answer.question.language),
        follow_up=follow_up_text(features, issue, quote),
        kind=features.kind,
        source="rules",
        flags=flags_of(features, unsure),
        caps=tuple(caps),
        weakest=weakest,
        notes=_notes(features),
    )


def _relevance(features: Features) -> float:
    """What was said to the grader, or in another language, does not speak to the question."""
    if features.only_orders:
        return 0.0
    return (
        min(features.relevance.value, 0.3) if features.substance.wrong_language else features.relevance.value
    )


def _mean(features: Features, readings: tuple[Reading, ...]) -> float:
    weights = WEIGHTS[features.kind]
    return sum(weights[reading.dimension] * reading.value for reading in readings)


def _bounded(mean: float, caps: tuple[CapName, ...]) -> float:
    return round(min([mean, *(LIMITS[cap] for cap in caps)]), 1)


def _unsure(answer: Answer) -> bool:
    """Enough words were heard badly that a person should listen before anybody builds on them."""
    unsure = sum(word.confidence < _UNSURE_WORD for word in answer.words)
    return bool(answer.words) and unsure / len(answer.words) > _UNSURE_SHARE


def _notes(features: Features) -> tuple[str, ...]:
    notes = []
    if features.cut_short:
        notes.append(f"only the first {features.read_chars} characters were read")
    if features.ordered and not features.only_orders:
        notes.append("words meant for the grader were left out of the reading")
    return tuple(notes)


def _no_answer(answer: Answer) -> Assessment:
    words = phrases_for(answer.question.language)
    return Assessment(
        score=None,
        weakness=words.WEAKNESS["no_answer"][1],
        dimensions=(),
        star={name: StarPart(False) for name in STAR_NAMES},
        quantified=(),
        relevance=0.0,
        delivery=Delivery(),
        follow_up=words.FOLLOW_UP["no_answer"][0],
        kind=kind_and_form(answer.question)[0],
        source="rules",
    )


def warm_up() -> None:
    """Load dictionaries and run both languages once, so that the first real answer is not the slow one."""
    to_simplified("預熱")
    for question, text in (
        (
            QuestionSpec("Tell me about a time you fixed a problem.", "en"),
            "Last year I fixed a slow query, and it fell by 40%.",
        ),
        (
            QuestionSpec("请讲一次你解决问题的经历。", "zh"),
            "去年我负责优化，我先加了缓存，最后延迟降到十毫秒。",
        ),
    ):
        assess(Answer(question, text))
