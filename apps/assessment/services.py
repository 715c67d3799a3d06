"""Scores, evidence and reports written to rows. Knows what a reading is worth, not how it was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db import transaction

from apps.assessment.models import Correction, Evidence, Report, Score
from apps.assessment.selectors import turn_readings
from apps.assessment.summary import coverage_of, mean_of, next_steps_of
from apps.assessment.word_times import quotes_timed
from apps.interviews.models import Interview, Turn, Utterance
from inference.assessment import Assessment, Word, grade_for
from inference.transcription import join_texts

if TYPE_CHECKING:  # a web process that records live scores need not load what analyses them
    from apps.assessment.analysis import DeepReading
    from inference.transcription import HeardUtterance


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


def deep_reading_record(*, turn: Turn, reading: DeepReading) -> Score | None:
    """Store what the analysis heard and judged. Raises Turn.DoesNotExist when the interview was deleted."""
    with transaction.atomic():
        turn = Turn.objects.select_for_update().get(pk=turn.pk)
        turn.utterances.filter(decode=Utterance.Decode.FULL).delete()
        Utterance.objects.bulk_create(_decoded(turn, heard) for heard in reading.decoded)
        if reading.assessment is None:
            return None
        turn.transcript, turn.low_confidence = reading.transcript, reading.low_confidence
        turn.status = Turn.Status.ANSWERED  # also one that the live session could not score
        if reading.speech_s is not None:
            turn.speech_s = reading.speech_s
        turn.save(update_fields=["transcript", "low_confidence", "status", "speech_s"])
        return score_record(
            turn=turn,
            assessment=reading.assessment,
            words=reading.words,
            stage=Score.Stage.DEEP,
            low_confidence=reading.low_confidence,
        )


def correction_record(*, turn: Turn, reading: DeepReading) -> Correction:
    """Store what the whole recording led to, beside what the live session had made of its part.

    `turn` is as it was when its recording was read, which must not have been corrected before.
    """
    with transaction.atomic():
        before = _live_words(turn)
        live = turn.scores.filter(stage=Score.Stage.LIVE).first()
        deep = deep_reading_record(turn=turn, reading=reading)
        counts = deep or turn.scores.filter(stage=Score.Stage.DEEP).first() or live
        correction = Correction.objects.create(
            turn=turn,
            sha256=turn.sha256,
            late_s=turn.late_s,
            transcript_before=before,
            transcript_after=Turn.objects.values_list("transcript", flat=True).get(pk=turn.pk),
            value_before=live.value if live else None,
            value_after=counts.value if counts else None,
        )
        _report_refresh(turn.interview)
    return correction


def _live_words(turn: Turn) -> str:
    """What the candidate was shown when the answer was closed, whatever was read since."""
    if turn.input == "text":
        return turn.transcript
    live = turn.utterances.filter(decode=Utterance.Decode.LIVE)
    return join_texts(list(live.values_list("text", flat=True)))


def _report_refresh(interview: Interview) -> None:
    """Sum up again what was summed up before; an interview without a report gets none."""
    report = Report.objects.filter(interview=interview).first()
    if report is not None:
        report_rebuild(interview=interview, status=report.status, reason=report.reason)


def _decoded(turn: Turn, heard: HeardUtterance) -> Utterance:
    return Utterance(
        turn=turn,
        number=heard.number,
        decode=Utterance.Decode.FULL,
        text=heard.transcript.text,
        raw_text=heard.transcript.raw,
        words=[asdict(word) for word in heard.transcript.words],
        start_s=heard.start_s,
        end_s=heard.end_s,
        confidence=heard.transcript.confidence,
        low_confidence=heard.transcript.low_confidence,
    )


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
