"""Scores, evidence and reports written to rows. Knows what a reading is worth, not how it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal

from django.db import transaction

from apps.assessment.models import Evidence, Report, Score
from apps.assessment.selectors import turn_readings
from apps.assessment.summary import coverage_of, mean_of, next_steps_of
from apps.assessment.word_times import quotes_timed
from apps.interviews.models import Interview, Turn
from inference.assessment import Assessment, Word, grade_for


def score_record(
    *,
    turn: Turn,
    assessment: Assessment,
    words: Sequence[Word],
    stage: str,
    rev: int = 0,
    low_confidence: bool = False,
) -> Score | None:
    """Store one reading of one answer with its evidence; again for the same (turn, stage) replaces it.

    `words` carry times in seconds of the answer's audio and lead to `turn.transcript`, which must be set. A
    reading without a score leaves no row, and takes an older one of the same stage away: returns None.
    """
    with transaction.atomic():
        if assessment.score is None:
            Score.objects.filter(turn=turn, stage=stage).delete()
            return None
        fields = _score_fields(assessment) | {"rev": rev, "low_confidence": low_confidence}
        score, _ = Score.objects.update_or_create(turn=turn, stage=stage, defaults=fields)
        score.evidence.all().delete()
        Evidence.objects.bulk_create(_evidence(score, turn.transcript, assessment, words))
    return score


def _score_fields(assessment: Assessment) -> dict[str, object]:
    value = one_decimal(assessment.score or 0.0)
    return {
        "value": value,
        "grade": grade_for(float(value)),
        "source": assessment.source,
        "model": assessment.model or "",
        "prompt_version": assessment.prompt_version or "",
        "weakness": assessment.weakness,
        "follow_up": assessment.follow_up,
        "flags": list(assessment.flags),
        "caps": list(assessment.caps),
        "star": {name: asdict(part) for name, part in assessment.star.items()},
        "quantified": list(assessment.quantified),
        "relevance": assessment.relevance,
        "fillers": assessment.delivery.fillers,
        "pace": assessment.delivery.pace,
    }


def _evidence(score: Score, transcript: str, assessment: Assessment, words: Sequence[Word]) -> list[Evidence]:
    return [
        Evidence(
            score=score,
            dimension=reading.dimension,
            value=one_decimal(reading.value),
            weight=reading.weight,
            comment=reading.comment,
            quotes=quotes_timed(transcript, words, reading.quotes),
        )
        for reading in assessment.dimensions
    ]


def report_rebuild(*, interview: Interview, status: str = Report.Status.LIVE, reason: str = "") -> Report:
    """Sum the interview up from its scores, the deep one of an answer before the live one.

    Unanswered questions lower the coverage and leave the mean alone; without any score there is no mean.
    """
    with transaction.atomic():
        readings = turn_readings(interview)
        mean = mean_of(readings)
        answered, asked = coverage_of(interview, readings)
        report, _ = Report.objects.update_or_create(
            interview=interview,
            defaults={
                "status": status,
                "reason": reason[:200],
                "mean": mean,
                "grade": "" if mean is None else grade_for(float(mean)),
                "answered": answered,
                "asked": asked,
                "next_steps": next_steps_of(readings),
            },
        )
    return report


def one_decimal(value: float) -> Decimal:
    return Decimal(str(round(value, 1)))
