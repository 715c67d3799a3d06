"""Upper bounds by name: what a weighted mean must not hide. The lowest cap that applies wins."""

from __future__ import annotations

from typing import Literal

from inference.assessment import Flag
from inference.nlp.features import Features
from inference.nlp.reading import Mark

CapName = Literal[
    "only_orders",
    "refusal",
    "wrong_language",
    "gibberish",
    "empty_words",
    "yes_no_sentence",
    "off_topic",
    "stuffing",
    "repetition",
    "buzzwords",
    "no_action",
    "no_result",
    "action_only",
    "thin_design",
    "blame",
]
LIMITS: dict[CapName, float] = {
    "only_orders": 1.0,
    "refusal": 1.5,
    "wrong_language": 1.5,
    "gibberish": 1.5,
    "empty_words": 1.5,
    "stuffing": 2.0,
    "repetition": 2.0,
    "off_topic": 2.5,
    "buzzwords": 3.0,
    "no_action": 3.5,
    "action_only": 3.5,
    "thin_design": 3.5,
    "blame": 5.5,
    "yes_no_sentence": 6.0,
    "no_result": 6.9,
}
_THIN_DESIGN_WORDS = 30


def caps_of(features: Features) -> tuple[CapName, ...]:
    """Every cap that applies, lowest first."""
    substance = features.substance
    holds: dict[CapName, bool] = {
        "only_orders": features.only_orders,
        "refusal": substance.refusal,
        "wrong_language": substance.wrong_language,
        "gibberish": substance.gibberish and not features.only_orders,
        "empty_words": substance.empty and not features.only_orders,
        "stuffing": substance.stuffing,
        "repetition": substance.repetition,
        "off_topic": features.relevance.off_topic,
        "buzzwords": substance.buzzwords,
        "thin_design": _thin_design(features),
        "blame": _blame(features),
        "yes_no_sentence": features.form == "yes_no" and features.sentences <= 1,
        **_story_caps(features),
    }
    return tuple(sorted((name for name, applies in holds.items() if applies), key=lambda name: LIMITS[name]))


def _story_caps(features: Features) -> dict[CapName, bool]:
    if features.kind != "behavioural" or features.form == "follow_up":
        return {}
    present = {name for name, part in features.star.items() if part.present}
    return {
        "no_action": not features.acts,
        "action_only": present == {"action"} and features.form != "approach" and _bare(features),
        "no_result": "result" not in present
        and not (features.form == "approach" and bool(features.quantified)),
    }


_BARE_WORDS = 30


def _bare(features: Features) -> bool:
    """Acts with nothing around them; a long account of many acts is more than that."""
    return features.substance.words < _BARE_WORDS


def _thin_design(features: Features) -> bool:
    return (
        features.form == "design"
        and features.sentences <= 1
        and features.substance.words < _THIN_DESIGN_WORDS
    )


def _blame(features: Features) -> bool:
    """Somebody else's fault, and nothing of one's own but telling the boss."""
    if not any(mark.blame for mark in features.marks):
        return False
    return not any(_own_part(mark) for mark in features.acts)


def _own_part(mark: Mark) -> bool:
    return mark.actor == "i" and not mark.escalation and not mark.blame


def flags_of(features: Features, low_confidence: bool) -> tuple[Flag, ...]:
    substance = features.substance
    holds: dict[Flag, bool] = {
        "injection": features.ordered,
        "off_topic": features.relevance.off_topic and not features.only_orders and substance.sound,
        "refusal": substance.refusal,
        "too_short": substance.empty and not features.only_orders,
        "repetition": substance.repetition,
        "stuffing": substance.stuffing,
        "wrong_language": substance.wrong_language,
        "low_confidence": low_confidence,
        "needs_review": low_confidence or (substance.gibberish and not features.only_orders),
    }
    return tuple(name for name, applies in holds.items() if applies)
