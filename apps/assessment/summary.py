"""The arithmetic of a report: mean, coverage and what to try next."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from apps.assessment.models import Score
from apps.assessment.selectors import TurnReading
from apps.interviews.models import Interview, Turn

NEXT_STEPS = 3
# The middle of each level of the rubric (0-3.5, 3.5-7, 7-10): what one level up would be worth.
_LEVELS_UP = ((3.5, 5.25), (7.0, 8.5), (10.0, 10.0))


def mean_of(readings: Sequence[TurnReading]) -> Decimal | None:
    """Mean over the answers that have a score, one decimal; None without any."""
    values = [reading.score.value for reading in readings if reading.score is not None]
    if not values:
        return None
    return (sum(values, Decimal(0)) / len(values)).quantize(Decimal("0.1"), ROUND_HALF_UP)


def coverage_of(interview: Interview, readings: Sequence[TurnReading]) -> tuple[int, int]:
    """(questions answered with a score, questions there were): follow-ups apart, as the interview counts.

    Questions never reached count as asked.
    """
    main = (reading for reading in readings if reading.turn.kind == Turn.Kind.MAIN)
    return sum(reading.score is not None for reading in main), interview.template.questions.count()


def follow_ups_answered(readings: Sequence[TurnReading]) -> int:
    """Follow-up questions whose answer has a score."""
    return sum(reading.score is not None for reading in readings if reading.turn.kind == Turn.Kind.FOLLOW_UP)


def next_steps_of(readings: Sequence[TurnReading]) -> list[str]:
    """The weaknesses that would raise most, in the words the candidate already got; none twice."""
    scores = [reading.score for reading in readings if reading.score is not None]
    ordered = sorted(scores, key=lambda score: -gain_of(score))
    distinct = dict.fromkeys(score.weakness for score in ordered if score.weakness)
    return list(distinct)[:NEXT_STEPS]


def gain_of(score: Score) -> float:
    """Points this answer would win: its best dimension one level up, and what a cap took away."""
    evidence = list(score.evidence.all())
    one_level_up = max((part.weight * _step(float(part.value)) for part in evidence), default=0.0)
    uncapped = sum(part.weight * float(part.value) for part in evidence)
    return one_level_up + max(0.0, uncapped - float(score.value))


def _step(value: float) -> float:
    target = next(middle for ceiling, middle in _LEVELS_UP if value < ceiling or ceiling == 10.0)
    return max(0.0, target - value)
