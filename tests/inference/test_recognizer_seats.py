"""Two worker processes behind one line: who is served by which, and what the loss of one costs the others."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from inference.adapters.faster_whisper import FasterWhisperRecognizer
from inference.config import RecognizerConfig
from inference.ports import EngineUnavailable, Priority, Speech
from tests.inference.spoken import clip

pytestmark = [pytest.mark.model, pytest.mark.asyncio(loop_scope="module")]

WITHIN_S = 60.0
NO = Speech(clip("short_no").pcm, "en")
LAKE = Speech(clip("off_topic").pcm, "en")


@pytest_asyncio.fixture(loop_scope="module")
async def pair(model_dir: Path) -> AsyncIterator[FasterWhisperRecognizer]:
    """Patient: no decode is taken for hung."""
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir, at_once=2, kill_after_s=3 * WITHIN_S))
    await recognizer.start()
    await eventually(lambda: len(recognizer.worker_pids) == 2)
    yield recognizer
    await recognizer.aclose()


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():
            await asyncio.sleep(0.02)


def ask(
    recognizer: FasterWhisperRecognizer, speech: Speech, priority: Priority = Priority.FINAL
) -> asyncio.Task[str]:
    async def text() -> str:
        return (await recognizer.transcribe(speech, priority)).text

    return asyncio.create_task(text())


async def test_who_comes_while_one_worker_hangs_is_heard_by_the_other(pair: FasterWhisperRecognizer) -> None:
    hung, _ = pair.worker_pids
    os.kill(hung, signal.SIGSTOP)
    stuck = [ask(pair, LAKE), ask(pair, NO)]  # one of them meets the one that stands still
    await asyncio.wait(stuck, timeout=WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    assert ["No" in text for text in await asyncio.gather(*(ask(pair, NO) for _ in range(3)))] == [True] * 3
    assert sum(one.done() for one in stuck) == 1
    os.kill(hung, signal.SIGCONT)
    lake, no = await asyncio.gather(*stuck)
    assert "lake" in lake
    assert "No" in no
    assert pair.counters["worker_lost"] == 0


async def test_what_a_crash_leaves_is_heard_by_who_is_free_first(
    pair: FasterWhisperRecognizer,
) -> None:
    first, _ = pids = pair.worker_pids
    os.kill(first, signal.SIGSTOP)
    asked = [ask(pair, LAKE), ask(pair, NO)]
    await asyncio.wait(asked, timeout=WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    os.kill(first, signal.SIGKILL)
    lake, no = await asyncio.gather(*asked)
    assert "lake" in lake
    assert "No" in no
    assert (pair.counters["worker_lost"], pair.counters["retried"], pair.counters["failed"]) == (1, 1, 0)
    await eventually(lambda: len(pair.worker_pids) == 2 and first not in pair.worker_pids)
    assert pids[1] in pair.worker_pids


async def test_guesses_leave_one_worker_to_those_who_wait_for_their_words(
    pair: FasterWhisperRecognizer,
) -> None:
    for pid in pair.worker_pids:
        os.kill(pid, signal.SIGSTOP)
    guesses = [ask(pair, LAKE, Priority.PARTIAL) for _ in range(2)]
    await eventually(lambda: pair.waiting == 1)  # the other worker is free, and stays so
    final = ask(pair, NO)
    await asyncio.sleep(0)
    await eventually(lambda: pair.waiting == 1)
    for pid in pair.worker_pids:
        os.kill(pid, signal.SIGCONT)
    assert "No" in await final
    assert all("lake" in text for text in await asyncio.gather(*guesses))
    assert pair.waiting == 0


async def test_a_guess_is_served_by_the_only_worker_there_is(model_dir: Path) -> None:
    alone = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    assert "No" in await ask(alone, NO, Priority.PARTIAL)
    await alone.aclose()


async def test_nobody_waits_where_no_worker_can_be_had(tmp_path: Path) -> None:
    recognizer = FasterWhisperRecognizer(RecognizerConfig(tmp_path, at_once=2))
    async with asyncio.timeout(WITHIN_S):
        with pytest.raises(EngineUnavailable, match="models fetch"):
            await recognizer.start()
        with pytest.raises(EngineUnavailable):
            await recognizer.transcribe(NO, Priority.FINAL)
    await recognizer.aclose()
