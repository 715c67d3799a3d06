"""Names the biggest weakness: the cap that binds, else the dimension whose next level is worth most."""

from __future__ import annotations

import re
from typing import Final

from inference.assessment import Dimension
from inference.nlp.caps import LIMITS, CapName
from inference.nlp.dimensions import HIGH, LOW, WEIGHTS, Reading
from inference.nlp.features import Features, found
from inference.nlp.question import Form

Issue = str
# Where a level's anchor sits: the middle of the next band up.
_MIDDLE_ANCHOR, _HIGH_ANCHOR = 5.5, 8.5
_SEVERAL_STEPS: Final = 3
_NOTHING_LEFT: Final = 0.12
_NOTHING_TO_WEIGH: Final = 3.5  # caps this low name what is wrong better than any dimension does

_DIMENSION_OF: dict[str, Dimension] = {
    "only_orders": "relevance",
    "refusal": "relevance",
    "wrong_language": "relevance",
    "gibberish": "clarity",
    "empty_words": "evidence",
    "stuffing": "structure",
    "repetition": "clarity",
    "off_topic": "relevance",
    "buzzwords": "evidence",
    "no_action": "structure",
    "action_only": "structure",
    "thin_design": "structure",
    "blame": "ownership",
    "yes_no_sentence": "evidence",
    "no_result": "evidence",
}


def biggest(
    features: Features, readings: tuple[Reading, ...], caps: tuple[CapName, ...], mean: float
) -> tuple[Issue, Dimension]:
    """The issue (a key of the phrases) and the dimension it belongs to."""
    if caps and (LIMITS[caps[0]] <= _NOTHING_TO_WEIGH or LIMITS[caps[0]] <= mean + 0.5):
        return _named(features, caps[0]), _DIMENSION_OF[caps[0]]
    if features.form == "follow_up":
        return _of_follow_up(features, readings)
    weights = WEIGHTS[features.kind]
    gains = {reading.dimension: weights[reading.dimension] * _gain(reading.value) for reading in readings}
    weakest = max(gains, key=lambda dimension: gains[dimension])
    if gains[weakest] < _NOTHING_LEFT:
        return _finish(features), weakest
    return _issue(features, weakest), weakest


def _of_follow_up(features: Features, readings: tuple[Reading, ...]) -> tuple[Issue, Dimension]:
    """A follow-up asked for one thing: it may be said too vaguely, or lack a detail."""
    values = {reading.dimension: reading.value for reading in readings}
    if max(values["evidence"], values["structure"]) <= LOW:
        return ("vague" if any(mark.vague for mark in features.marks) else "empty_words"), "evidence"
    if min(values["relevance"], values["evidence"]) < HIGH and not features.quantified:
        return "follow_up_detail", "evidence"
    return "follow_up_done", "structure"


_BARE_NO = re.compile(r"^\W*(?:no\b|not\b|never\b|nope\b|i have not|i haven't|没有|没|不|从来没)")


def _named(features: Features, cap: CapName) -> Issue:
    if cap != "yes_no_sentence":
        return cap
    bare = _bare(features)
    return cap if bare == "bare_fact" else bare


def _gain(value: float) -> float:
    anchor = _MIDDLE_ANCHOR if value <= LOW else _HIGH_ANCHOR
    return max(0.0, anchor - value)


def _finish(features: Features) -> Issue:
    """What is left when every dimension is high."""
    if features.form == "story":
        missing = [name for name in ("task", "situation") if not features.star[name].present]
        return f"no_{missing[0]}" if missing else "last_step"
    left: dict[Form, Issue] = {
        "design": _design_gap(features),
        "explain": "no_edge_case",
        "motive": "no_outlook",
        "fact": _bare(features),
        "yes_no": _bare(features),
    }
    return left.get(features.form, "last_step")


def _issue(features: Features, dimension: Dimension) -> Issue:
    readers = {
        "relevance": _relevance,
        "structure": _structure,
        "evidence": _evidence,
        "ownership": _ownership,
        "clarity": _clarity,
    }
    return readers[dimension](features)


def _relevance(features: Features) -> Issue:
    if features.relevance.missing and not _part_missing(features):
        return "missing_point"
    if features.form in ("fact", "yes_no"):
        return _bare(features)
    if features.form in ("story", "career", "approach"):
        return "misses_point" if features.relevance.misses_topic else _story_gap(features)
    return _gap(features)


def _part_missing(features: Features) -> bool:
    """A story without its deed or its outcome lacks more than a point."""
    star = features.star
    return features.form in ("story", "career") and not (star["action"].present and star["result"].present)


_OF_ONESELF = re.compile(
    r"strength|weakness|yourself|five years|good at|优点|缺点|优势|劣势|长处|短板|规划|介绍"
)


def _gap(features: Features) -> Issue:
    """What a design, an explanation or a reason still lacks; never something that it has."""
    if features.form == "design":
        return _design_gap(features)
    if features.form == "explain":
        return _explanation_gap(features)
    if found(features, "SPECIFIC") or features.quantified or features.star["result"].present:
        return "no_outlook"
    return "generic_self" if _OF_ONESELF.search(features.question) else "generic_motive"


def _design_gap(features: Features) -> Issue:
    if not found(features, "TRADE_OFF"):
        return "no_trade_offs"
    return "no_growth" if any(mark.measured for mark in features.marks) else "no_limits"


def _explanation_gap(features: Features) -> Issue:
    if features.richness < _RICH_EXPLANATION:
        return "no_mechanism"
    return "no_edge_case" if found(features, "EXAMPLE") else "no_example"


_RICH_EXPLANATION = 14


def _story_gap(features: Features) -> Issue:
    for name in ("action", "result", "situation", "task"):
        if not features.star[name].present:
            return f"no_{name}"
    return _last(features)


def _structure(features: Features) -> Issue:
    if features.form in ("design", "explain"):
        return _gap(features)
    if features.form == "motive":
        return "no_reason" if not found(features, "REASON") else _motive_gap(features)
    return "no_example" if features.form == "approach" else _story_gap(features)


def _motive_gap(features: Features) -> Issue:
    shown = found(features, "EXAMPLE") or features.quantified or features.star["result"].present
    return "no_outlook" if shown else "no_example"


def _evidence(features: Features) -> Issue:
    if features.form in ("fact", "yes_no"):
        return _bare(features)
    if features.form in ("design", "explain"):
        return _gap(features)
    return _motive_gap(features) if features.form == "motive" else _story_evidence(features)


def _story_evidence(features: Features) -> Issue:
    if not features.acts:
        return "no_action"
    if not features.star["result"].present:
        return "no_example" if features.form == "approach" else "no_result"
    return _last(features) if features.quantified else "no_number"


def _last(features: Features) -> Issue:
    """Steps are asked for only where there are few; else what is left is looking back."""
    return "no_steps" if sum(mark.acts for mark in features.acts) < _SEVERAL_STEPS else "last_step"


def _bare(features: Features) -> Issue:
    if _BARE_NO.match(features.folded.text):
        return "bare_no"
    return "fact_outcome" if features.quantified else "bare_fact"


def _ownership(features: Features) -> Issue:
    own = any(mark.actor == "i" for mark in features.acts) or features.form == "motive"
    return "own_part" if own else "we_only"


def _clarity(features: Features) -> Issue:
    return "vague" if any(mark.vague for mark in features.marks) else "rambling"
