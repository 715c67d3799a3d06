"""The job `analyse_interview`: every answer heard and judged again, the report final, the open page told.

Idempotent per answer: an answer with a deep score is not read again, so a second attempt goes on where the
first one stopped. A failure leaves the live report as it is, with the reason.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from django.db import transaction

from apps.assessment.analysis import DeepReading, read_again
from apps.assessment.kept_answers import given_answer
from apps.assessment.models import Report, Score
from apps.assessment.services import deep_reading_record, report_rebuild
from apps.interviews.group import ring
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import ANALYSE, event_append
from apps.interviews.services.seats import Seat
from apps.ops.engine_settings import llm_config, recognizer_config
from apps.ops.job_kinds import JobKind, job_kind_register
from apps.ops.jobs import JobTimedOut, Lease, job_guard
from apps.ops.metrics import observe
from apps.ops.steps import Step
from inference.bootstrap import build_engines, close_engines
from inference.config import LlmConfig
from inference.events import AnalysisReady
from inference.ports import Engines

logger = logging.getLogger(__name__)

NICE = 19
LLM_S = 20.0  # well within a step: after it the rules judge


def analyse_interview(lease: Lease, step: Step) -> None:
    """Run the analysis of one interview. Raises JobTimedOut, LeaseLost or EngineError."""
    _yield_to_live_work()
    try:
        interview = Interview.objects.get(pk=lease.subject_id)
        with asyncio.Runner() as runner, _engines(runner) as engines:
            step()
            for turn in turns_to_read(interview):
                reading = _read(runner, engines, turn, step)
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
    """Answered turns that have no deep score yet."""
    answered = interview.turns.filter(status__in=[Turn.Status.ANSWERED, Turn.Status.UNSCORED])
    return list(answered.exclude(scores__stage=Score.Stage.DEEP).select_related("question", "interview"))


def _yield_to_live_work() -> None:
    with suppress(OSError):
        os.nice(NICE - os.nice(0))


@contextmanager
def _engines(runner: asyncio.Runner) -> Iterator[Engines]:
    """One-thread engines for the length of a job: between jobs they hold no memory."""
    engines = build_engines(recognizer_config(threads=1, nice=NICE), _patient(llm_config()), observe=_count)
    try:
        yield engines
    finally:
        runner.run(close_engines(engines))


def _count(name: str, value: float) -> None:
    """Fallbacks and drops count; the seconds of unhurried work would spoil the figures of the live path."""
    if not name.endswith("_s"):
        observe(name, value)


def _patient(config: LlmConfig) -> LlmConfig:
    """Nobody waits for these words: a busy server may take its time."""
    return replace(config, first_token_s=LLM_S / 2, between_tokens_s=LLM_S / 4, total_s=LLM_S)


def _read(runner: asyncio.Runner, engines: Engines, turn: Turn, step: Step) -> DeepReading:
    given = given_answer(turn)

    async def within_its_steps() -> DeepReading:
        async with asyncio.timeout(step.left_s) as limit:

            def next_step() -> None:
                step()
                limit.reschedule(asyncio.get_running_loop().time() + step.left_s)

            return await read_again(engines, given, _count, next_step)

    try:
        return runner.run(within_its_steps())
    except TimeoutError as exc:
        raise JobTimedOut from exc


def _record(lease: Lease, turn: Turn, reading: DeepReading) -> None:
    with transaction.atomic():
        job_guard(lease)
        deep_reading_record(turn=turn, reading=reading)


def _finish(lease: Lease, interview: Interview) -> None:
    with transaction.atomic():
        job_guard(lease)
        report_rebuild(interview=interview, status=Report.Status.FINAL)
        interview = Interview.objects.select_for_update().get(pk=interview.pk)
        if not interview.events.filter(type=AnalysisReady().type).exists():
            seat = Seat(interview.pk, interview.generation)
            event_append(seat=seat, events=[AnalysisReady()])
    _announce(interview)


def _announce(interview: Interview) -> None:
    """Wake an open page. It finds the news in the rows, so a lost message costs only time."""
    asyncio.run(ring(interview.public_id.hex, {"type": "interview.analysis"}))


job_kind_register(JobKind(ANALYSE, analyse_interview, analysis_failed))
