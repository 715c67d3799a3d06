"""The job `correct_answer`: an answer whose audio came late is heard anew, whole, and judged again.

Idempotent per recording. A failure leaves what was shown; the recruiter sees it and can try again.
"""

from __future__ import annotations

import asyncio
import logging

from django.db import transaction
from prometheus_client import Counter

from apps.assessment.analysis import DeepReading
from apps.assessment.kept_answers import given_answer
from apps.assessment.models import Correction
from apps.assessment.reader import open_reader
from apps.assessment.services import correction_record
from apps.interviews.group import ring
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import CORRECT, event_append
from apps.interviews.services.seats import Seat
from apps.ops.jobs import Lease, job_for_subject, job_guard
from apps.ops.steps import Step
from inference.events import AnswerCorrected
from inference.ports import EngineUnavailable

logger = logging.getLogger(__name__)

CORRECTIONS = Counter("viva_corrections", "Answers heard anew after late audio, by outcome.", ["outcome"])


def awaits_correction(turn: Turn) -> bool:
    """Whether the answer is read, or will be, by its correction."""
    return job_for_subject(kind=CORRECT, subject_id=turn.pk) is not None


def correct_answer(lease: Lease, step: Step) -> None:
    """Run the correction of one answer. Raises JobTimedOut, LeaseLost or EngineError."""
    turn = Turn.objects.select_related("question", "interview__template").filter(pk=lease.subject_id).first()
    if turn is None:
        logger.info("turn %d is gone: nothing to correct", lease.subject_id)
        return
    if not turn.corrections.filter(sha256=turn.sha256).exists():
        with open_reader(step) as reads:
            if reads.engines.recognizer is None:
                raise EngineUnavailable(reads.engines.why_text or "no speech model")
            step()
            reading = reads.read(given_answer(turn))
        step()
        _record(lease, turn, reading)
    _announce(turn)


def correction_failed(turn_id: int, reason: str) -> None:
    """What was shown stays; the job's row tells the recruiter."""
    CORRECTIONS.labels("failed").inc()
    logger.warning("late audio of turn %d could not be heard: %s", turn_id, reason)


def _record(lease: Lease, turn: Turn, reading: DeepReading) -> None:
    """The words, the score, what changed and the event: all of it or nothing, and once per recording."""
    with transaction.atomic():
        job_guard(lease)
        interview = Interview.objects.select_for_update().filter(pk=turn.interview_id).first()
        if interview is None:
            return
        correction = correction_record(turn=turn, reading=reading)
        seat = Seat(interview.pk, interview.generation)
        event_append(seat=seat, events=[AnswerCorrected(turn=turn.number, late_s=correction.late_s)])
    CORRECTIONS.labels(_outcome(correction)).inc()


def _outcome(correction: Correction) -> str:
    before = (correction.transcript_before, correction.value_before)
    return "same" if before == (correction.transcript_after, correction.value_after) else "changed"


def _announce(turn: Turn) -> None:
    """Wake an open page. It finds the news in the rows, so a lost message costs only time."""
    message = {"type": "interview.corrected", "turn": turn.number, "late_s": turn.late_s}
    asyncio.run(ring(turn.interview.public_id.hex, message))
