"""How a job hears and judges an answer again: engines for the length of the job, one step after the other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from apps.assessment.analysis import DeepReading, GivenAnswer, read_again
from apps.ops.engine_settings import llm_config, recognizer_config
from apps.ops.jobs import JobTimedOut
from apps.ops.metrics import observe
from apps.ops.steps import Step
from inference.bootstrap import build_engines, close_engines
from inference.config import LlmConfig
from inference.ports import Engines

NICE = 19
LLM_S = 20.0  # well within a step: after it the rules judge


class Reader:
    """Reads answers for one job. Made by `open_reader`."""

    def __init__(self, engines: Engines, runner: asyncio.Runner, step: Step) -> None:
        self.engines = engines
        self._runner, self._step = runner, step

    def read(self, given: GivenAnswer) -> DeepReading:
        """Raises JobTimedOut, LeaseLost or EngineError."""
        try:
            return self._runner.run(self._within_its_steps(given))
        except TimeoutError as exc:
            raise JobTimedOut from exc

    async def _within_its_steps(self, given: GivenAnswer) -> DeepReading:
        async with asyncio.timeout(self._step.left_s) as limit:

            def next_step() -> None:
                self._step()
                limit.reschedule(asyncio.get_running_loop().time() + self._step.left_s)

            return await read_again(self.engines, given, _count, next_step)


@contextmanager
def open_reader(step: Step) -> Iterator[Reader]:
    """One-thread engines that yield to live work: between jobs they hold no memory."""
    with suppress(OSError):
        os.nice(NICE - os.nice(0))
    engines = build_engines(
        recognizer_config(at_once=1, threads=1, nice=NICE), _patient(llm_config()), observe=_count
    )
    with asyncio.Runner() as runner:
        try:
            yield Reader(engines, runner, step)
        finally:
            runner.run(close_engines(engines))


def _count(name: str, value: float) -> None:
    """Fallbacks and drops count; the seconds of unhurried work would spoil the figures of the live path."""
    if not name.endswith("_s"):
        observe(name, value)


def _patient(config: LlmConfig) -> LlmConfig:
    """Nobody waits for these words: a busy server may take its time."""
    return replace(config, first_token_s=LLM_S / 2, between_tokens_s=LLM_S / 4, total_s=LLM_S)
