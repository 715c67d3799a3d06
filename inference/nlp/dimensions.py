"""The five dimensions, each 0-10 with the words that led to it, as the rubric anchors them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inference.assessment import DIMENSIONS, Dimension, QuestionKind
from inference.nlp import lexicon_en as en
from inference.nlp.clauses import words_of
from inference.nlp.features import Features, found, verifiable
from inference.nlp.question import Form
from inference.nlp.reading import Mark
from inference.nlp.stems import content_stems, stem

LOW, HIGH = 3.5, 7.0
WEIGHTS: dict[QuestionKind, dict[Dimension, float]] = {
    "behavioural": {
        "relevance": 0.25,
        "structure": 0.25,
        "evidence": 0.25,
        "ownership": 0.15,
        "clarity": 0.10,
    },
    "technical": {"relevance": 0.30, "structure": 0.25, "evidence": 0.30, "ownership": 0.0, "clarity": 0.15},
    "motivational": {
        "relevance": 0.35,
        "structure": 0.15,
        "evidence": 0.20,
        "ownership": 0.15,
        "clarity": 0.15,
    },
    "factual": {"relevance": 0.60, "structure": 0.0, "evidence": 0.25, "ownership": 0.0, "clarity": 0.15},
}
_QUOTES_EACH = 3
_CONTENT_WORDS = 2
_HOLLOW = {
    stem(word)
    for word in (*en.EMPTY_ANSWER, "really", "important", "honestly", "quite", "pretty", "happy", "somewhere")
}
_HOLLOW_ZH = re.compile(
    r"没什么|没有|挺|还|都|好|行|可以|一般|差不多|特别|反正|重要|开心|不错|其实|觉得|感觉"
)
_SHORT_STORY_WORDS = 35  # a story this short leaves most of the question open, unless it is measured


@dataclass(frozen=True, slots=True)
class Reading:
    """One dimension before its comment."""

    dimension: Dimension
    value: float
    quotes: tuple[str, ...]


def dimensions_of(features: Features) -> tuple[Reading, ...]:
    """All five in the rubric's order. Above LOW only with words to show for it."""
    readers: dict[Dimension, Callable[[Features], tuple[float, Iterable[Mark]]]] = {
        "relevance": _relevance,
        "structure": _structure,
        "evidence": _evidence,
        "ownership": _ownership,
        "clarity": _clarity,
    }
    readings = []
    for dimension in DIMENSIONS:
        value, marks = readers[dimension](features) if features.marks else (1.0, ())
        quotes = _quotes(features, marks)
        value = value if quotes else min(value, LOW)
        readings.append(Reading(dimension, round(max(0.0, min(10.0, value)), 1), quotes))
    return tuple(readings)


def _quotes(features: Features, marks: Iterable[Mark]) -> tuple[str, ...]:
    quotes = (features.quote(mark) for mark in marks)
    return tuple(dict.fromkeys(quote for quote in quotes if quote))[:_QUOTES_EACH]


def _longest(marks: Iterable[Mark], count: int = 2) -> list[Mark]:
    chosen = sorted(marks, key=lambda mark: -mark.words)[:count]
    return sorted(chosen, key=lambda mark: mark.clause.start)


def _relevance(features: Features) -> tuple[float, Iterable[Mark]]:
    marks = _longest(features.marks)
    if not features.sound:
        return min(2.0, 10 * features.relevance.value * 0.4), ()
    value = 10 * features.relevance.value
    if features.form == "motive":
        # Reasons of one's own come in any words: being off topic was settled before.
        return min(value + 3.0, _motive_point(features)), found(features, "REASON") or marks
    if features.form in ("fact", "yes_no"):
        return max(value, 6.0) + (1.5 if _detailed(features) else 0.0), marks
    if features.form == "follow_up":
        return value if _concrete(features) else min(value, LOW), marks
    if features.form in ("design", "explain"):
        return min(value, _depth(features)), marks
    return _story_relevance(features, value), _longest(features.acts or features.marks)


def _depth(features: Features) -> float:
    """A line or two cannot cover a technical question, however well it is chosen."""
    words = features.substance.words
    return 3.2 if words < 9 else 4.5 if words < 18 else 10.0


def _story_relevance(features: Features, value: float) -> float:
    """The question asks what *you* did and what came of it: without that the point is missed in part."""
    if not features.acts:
        return min(value, 4.5)
    if all(mark.actor == "we" for mark in features.acts) and not any(mark.role for mark in features.marks):
        return min(value, 7.0)
    if features.substance.words < _SHORT_STORY_WORDS and not features.quantified:
        return min(value, 6.5)
    return value + 0.5 if features.star["result"].present else min(value, 7.8)


def _motive_point(features: Features) -> float:
    """Reasons that fit any employer touch the question; reasons of one's own answer it."""
    shown = [mark for mark in features.marks if mark.measured or mark.outcome]
    episode = any(m.situation for m in features.marks) and any(m.actor == "i" for m in features.acts)
    third = bool(found(features, "SPECIFIC") or shown or episode)
    own = bool(_own(features, "OWN_PROOF")) + bool(_own(features, "GOAL_OF_SPEAKER")) + third
    generic = bool(found(features, "GENERIC_PRAISE")) and not found(features, "SPECIFIC")
    if features.substance.words < 8:
        own = min(own, 1)
    return (4.0, 5.2, 7.2, 9.5)[own] - (1.2 if generic else 0.0)


def _own(features: Features, name: str) -> list[Mark]:
    """Clauses of the named pattern, without those that anybody could say."""
    common = found(features, "GENERIC_PRAISE")
    return [mark for mark in found(features, name) if mark not in common]


def _detailed(features: Features) -> bool:
    return any(mark.measured or mark.lasting for mark in features.marks) or features.richness >= 5


def _structure(features: Features) -> tuple[float, Iterable[Mark]]:
    if not features.sound:
        return 1.0, ()
    reader: dict[Form, Callable[[Features], tuple[float, list[Mark]]]] = {
        "design": _design_structure,
        "explain": _claim_structure,
        "motive": _claim_structure,
        "approach": _approach_structure,
        "follow_up": _focused_structure,
    }
    return reader.get(features.form, _story_structure)(features)


def _story_structure(features: Features) -> tuple[float, list[Mark]]:
    worth = {"situation": 1.8, "task": 1.2, "action": 2.0, "result": 3.5}
    star = features.star
    value = 1.0 + sum(worth[name] for name, part in star.items() if part.present)
    if star["result"].present and not features.quantified:
        value -= 0.8  # an outcome is named, but nobody could check it
    if features.acts and all(mark.actor == "we" for mark in features.acts):
        value -= 1.0  # an action, but whose?
    if not star["action"].present:
        value = min(value, LOW)
    shown = {part.quote for part in star.values() if part.quote}
    marks = [mark for mark in features.marks if features.quote(mark) in shown]
    return value, marks


def _approach_structure(features: Features) -> tuple[float, list[Mark]]:
    """A habit: steps, a reason, and a time it was used."""
    steps = list(features.acts)
    examples, reasons = found(features, "EXAMPLE"), found(features, "REASON")
    value = 1.5 + min(3.6, 1.2 * len(steps)) + 1.2 * bool(reasons) + 1.5 * bool(examples)
    return value + (1.8 if features.star["result"].present else 0.0), steps + examples


def _concrete(features: Features) -> list[Mark]:
    """Clauses that say one thing in particular."""
    return [
        mark
        for mark in features.marks
        if not mark.vague
        and not mark.buzz
        and (mark.measured or mark.lasting or mark.proof or _says_much(mark.clause.text))
    ]


def _says_much(text: str) -> bool:
    """Two content words; a pair of Chinese characters is half of one. "Nothing really" holds none."""
    if text.isascii():
        return len(content_stems(text) - _HOLLOW) >= _CONTENT_WORDS
    return len(content_stems(_HOLLOW_ZH.sub(" ", text))) >= 2 * _CONTENT_WORDS


def _focused_structure(features: Features) -> tuple[float, list[Mark]]:
    """One thing was asked for: it is said, and a reason, a figure, a deed or an example carries it."""
    said = _concrete(features)
    if not said:
        return LOW - 1.0, []
    carried = [
        bool(found(features, "REASON") or found(features, "TRADE_OFF")),
        bool(features.quantified),
        bool(features.acts),
        bool(found(features, "EXAMPLE") or any(mark.situation or mark.task for mark in said)),
    ]
    return min(9.0, 4.2 + 0.6 * min(len(said), 4) + 1.1 * sum(carried)), said


def _design_structure(features: Features) -> tuple[float, list[Mark]]:
    parts = _parts(features)
    trade_offs, goals = found(features, "TRADE_OFF"), found(features, "GOAL")
    limits = [mark for mark in features.marks if mark.measured]
    value = (
        1.0 + min(4.0, 1.1 * len(parts)) + min(2.4, 1.2 * len(trade_offs)) + bool(goals) + 1.2 * bool(limits)
    )
    return value, (parts[:2] + trade_offs[:1]) or goals


def _parts(features: Features) -> list[Mark]:
    """Clauses that bring a part of the design: an act, or a sentence with several new content words."""
    return [
        mark
        for mark in features.marks
        if not mark.vague and (mark.act or len(content_stems(mark.clause.text)) >= 3)
    ]


def _claim_structure(features: Features) -> tuple[float, list[Mark]]:
    """Claim, reason, example or contrast."""
    claims = [mark for mark in features.marks if mark.words >= 4 and not mark.vague]
    reasons, examples, contrasts = (found(features, name) for name in ("REASON", "EXAMPLE", "CONTRAST"))
    value = (
        1.0 + min(3.0, 1.0 * len(claims)) + 2.0 * bool(reasons) + 1.5 * bool(examples) + 1.2 * bool(contrasts)
    )
    value += 1.0 if len(claims) >= 5 else 0.0
    return value, claims[:1] + reasons[:1] + examples[:1]


def _evidence(features: Features) -> tuple[float, Iterable[Mark]]:
    if not features.sound:
        return 0.5, ()
    readers: dict[Form, Callable[[Features], tuple[float, Iterable[Mark]]]] = {
        "design": _technical_evidence,
        "explain": _technical_evidence,
        "motive": _motive_evidence,
        "fact": _fact_evidence,
        "yes_no": _fact_evidence,
        "follow_up": _focused_evidence,
    }
    return readers.get(features.form, _story_evidence)(features)


def _story_evidence(features: Features) -> tuple[float, Iterable[Mark]]:
    shown = [mark for mark in features.marks if verifiable(mark, features.form)]
    if shown:
        numbers = sum(mark.measured for mark in shown)
        return min(9.8, 7.2 + 0.3 * len(shown) + (0.8 + 0.4 * (numbers - 1) if numbers else 0.0)), shown
    concrete = min(6.0, 1.6 + 0.28 * features.richness)
    if features.star["result"].present:
        results = [mark for mark in features.marks if mark.outcome]
        return max(4.0, min(6.2, concrete + 1.0)), results
    return (min(concrete, 5.2), _longest(features.acts)) if features.acts else (1.0, ())


def _focused_evidence(features: Features) -> tuple[float, Iterable[Mark]]:
    """A figure, a time or an outcome can be checked; names and deeds can, in part."""
    said = _concrete(features)
    if not said:
        return 1.0, ()
    shown = [mark for mark in said if verifiable(mark, features.form) or (mark.outcome and mark.proof)]
    value = min(6.6, 2.4 + 0.42 * features.richness + 0.6 * bool(features.acts))
    if shown:
        value = min(9.4, max(value, 5.6) + 1.2 + 0.3 * len(shown))
    return value, shown + _longest(said)


def _technical_evidence(features: Features) -> tuple[float, Iterable[Mark]]:
    """Mechanisms, names and limits: what another engineer could check."""
    limits = [mark for mark in features.marks if mark.measured]
    points = len(features.relevance.covered)
    value = 1.0 + min(5.5, 0.22 * features.richness) + min(2.2, 1.1 * len(limits)) + min(2.0, 0.7 * points)
    value += 0.8 * bool(found(features, "EXAMPLE")) + 0.8 * bool(found(features, "TRADE_OFF"))
    return min(value, 9.6), limits[:2] + _longest(features.marks)


def _motive_evidence(features: Features) -> tuple[float, Iterable[Mark]]:
    own, specific = _own(features, "OWN_PROOF"), found(features, "SPECIFIC")
    measured = [mark for mark in features.marks if mark.measured]
    value = 1.0 + 2.2 * bool(own) + min(1.5, 0.5 * len(own)) + 1.8 * bool(specific) + 2.0 * bool(measured)
    return value + min(1.5, 0.06 * features.richness), measured + own + specific


def _fact_evidence(features: Features) -> tuple[float, Iterable[Mark]]:
    measured = [mark for mark in features.marks if mark.measured or mark.lasting]
    value = 1.5 + 3.0 * bool(measured) + min(5.0, 0.55 * features.richness)
    return min(value, 9.5), measured + _longest(features.marks)


def _ownership(features: Features) -> tuple[float, Iterable[Mark]]:
    if not features.sound:
        return 1.0, ()
    own = [mark for mark in features.acts if mark.actor == "i" and not mark.escalation]
    roles = [mark for mark in features.marks if mark.role]
    if features.form == "motive":
        proof, goals = _own(features, "OWN_PROOF"), _own(features, "GOAL_OF_SPEAKER")
        value = 2.0 + 2.8 * bool(proof) + min(2.4, 0.8 * len(proof)) + 1.3 * bool(goals)
        return value, proof + goals
    if own:
        count = sum(max(1, mark.acts) for mark in own)
        value = min(9.2, 5.6 + 1.0 * count + 0.8 * bool(roles))
        return (
            min(value, 4.5) if any(mark.blame for mark in features.marks) and count < 2 else value
        ), own + roles
    if features.form == "follow_up":
        # It may ask for the place, the reason or the figure: then there is no deed to claim.
        return (6.0 if _concrete(features) else 3.0), _concrete(features)
    if any(mark.actor == "we" for mark in features.acts):
        return (5.5 if roles else 3.4), roles + list(features.acts)
    return (4.0 if roles else 2.0), roles


def _clarity(features: Features) -> tuple[float, Iterable[Mark]]:
    """Padding, slogans and loops cost; fillers, accent and pace do not."""
    if not features.substance.sound or features.only_orders:
        return 1.5, ()
    marks = features.marks
    vague = sum(mark.vague for mark in marks) / len(marks)
    buzz = sum(mark.buzz for mark in marks)
    value = 8.8 - 7.0 * vague - min(4.0, 0.9 * buzz) - 6.0 * _echo(features) - _run_on(features)
    if features.substance.words < 8:
        value -= 2.0
    plain = [mark for mark in marks if not mark.vague and not mark.buzz]
    return max(1.0, value), _longest(plain, 1)


def _echo(features: Features) -> float:
    """How much of the answer says again what it has said, beyond what prose needs."""
    words = words_of(features.folded.text)
    if len(words) < 30:
        return 0.0
    runs = [tuple(words[at : at + 3]) for at in range(len(words) - 2)]
    return max(0.0, 1 - len(set(runs)) / len(runs) - 0.08)


def _run_on(features: Features) -> float:
    """Many clauses hung together by "and" in one breath, with little in them."""
    words = features.substance.words
    return 1.5 if words > 60 and features.richness < words * 0.2 else 0.0
