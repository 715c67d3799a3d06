"""The job `analyse_interview`: every answer heard and judged again, the report final, the open page told.

Idempotent per answer: an answer with a deep score is not read again, so a second attempt goes on where the
first one stopped. A failure leaves the live report as it is, with the reason.
"""

from __future__ import annotations

import asyncio
import logging

from django.db import transaction

from apps.assessment.analysis import DeepReading
from apps.assessment.kept_answers import given_answer
from apps.assessment.late_audio import awaits_correction, correct_answer, correction_failed
from apps.assessment.models import Report, Score
from apps.assessment.reader import open_reader
from apps.assessment.services import deep_reading_record, report_rebuild
from apps.interviews.group import ring
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import ANALYSE, CORRECT, event_append
from apps.interviews.services.seats import Seat
from apps.ops.job_kinds import JobKind, job_kind_register
from apps.ops.jobs import Lease, job_guard
from apps.ops.steps import Step
from inference.events import AnalysisReady

logger = logging.getLogger(__name__)


def analyse_interview(lease: Lease, step: Step) -> None:
    """Run the analysis of one interview. Raises JobTimedOut, LeaseLost or EngineError."""
    try:
        interview = Interview.objects.get(pk=lease.subject_id)
        with open_reader(step) as reads:
            step()
            for turn in turns_to_read(interview):
                reading = reads.read(given_answer(turn))
                step()
                _record(lease, turn, reading)
        _finish(lease, interview)
    except (Interview.DoesNotExist, Turn.DoesNotExist):
        logger.info("interview %d is gone: nothing to analyse", lease.subject_id)


def analysis_failed(interview_id: int, reason: str) -> None:
    """Say why there will be no final report; the live one stays."""
    interview = Interview.objects.filter(pk=interview_id).first()
    if interview is not None:
        report_rebuild(interview=interview, reason=reason)
        _announce(interview)


def turns_to_read(interview: Interview) -> list[Turn]:
    """Answered turns that have no deep score yet; one whose audio came late is read by its correction."""
    answered = interview.turns.filter(status__in=[Turn.Status.ANSWERED, Turn.Status.UNSCORED])
    unread = answered.exclude(scores__stage=Score.Stage.DEEP).select_related(
        "question", "interview__template"
    )
    return [turn for turn in unread if not awaits_correction(turn)]


def _record(lease: Lease, turn: Turn, reading: DeepReading) -> None:
    with transaction.atomic():
        job_guard(lease)
        Turn.objects.select_for_update().get(pk=turn.pk)
        if awaits_correction(turn):
            logger.info("audio of turn %d came meanwhile: its correction reads it whole", turn.pk)
            return
        deep_reading_record(turn=turn, reading=reading)


def _finish(lease: Lease, interview: Interview) -> None:
    with transaction.atomic():
        job_guard(lease)
        interview = Interview.objects.select_for_update().get(pk=interview.pk)
        report_rebuild(interview=interview, status=Report.Status.FINAL)
        if not interview.events.filter(type=AnalysisReady().type).exists():
            seat = Seat(interview.pk, interview.generation)
            event_append(seat=seat, events=[AnalysisReady()])
    _announce(interview)


def _announce(interview: Interview) -> None:
    """Wake an open page. It finds the news in the rows, so a lost message costs only time."""
    asyncio.run(ring(interview.public_id.hex, {"type": "interview.analysis"}))


job_kind_register(JobKind(ANALYSE, analyse_interview, analysis_failed))
job_kind_register(JobKind(CORRECT, correct_answer, correction_failed))
