"""What the Recognizer port promises, kept alike by the model in its process, by a server, and by a pool.

The server is a script behind a real socket. A pool is tried with its server there, and with it gone and the
real model behind it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from array import array
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from inference.adapters.faster_whisper import FasterWhisperRecognizer
from inference.adapters.openai_asr import OpenAiRecognizer
from inference.adapters.recognizer_pool import RecognizerPool
from inference.audio import SAMPLE_RATE, duration_s
from inference.config import RecognizerConfig, RemoteAsrConfig
from inference.ports import EngineUnavailable, Priority, Recognizer, RequestRejected, Speech
from tests.inference.asr_server import SpeechServer, said, speech_server
from tests.inference.llm.support import unused_port
from tests.inference.spoken import clip

pytestmark = [pytest.mark.model, pytest.mark.asyncio(loop_scope="module")]

WITHIN_S = 60.0
KINDS = ("in-process", "server", "pool", "pool without its server")
FINAL, EAGER, PARTIAL, ANALYSIS = Priority.FINAL, Priority.EAGER, Priority.PARTIAL, Priority.ANALYSIS
SHORT = clip("short_no")
TAIL = clip("star_quantified").pcm[round(14.2 * SAMPLE_RATE) * 2 : round(20.4 * SAMPLE_RATE) * 2]
REMOTE: dict[str, Any] = {"total_s": WITHIN_S, "connect_s": WITHIN_S, "at_once": 1}


@dataclass
class Hearing:
    """A recogniser that works on one request at a time. `server` hears for it, or else `local` does."""

    recognizer: Recognizer
    local: FasterWhisperRecognizer
    server: SpeechServer | None
    holds_a_line: bool = True

    def stop(self) -> None:
        """Whoever hears answers nothing until it may go on."""
        if self.server is not None:
            self.server.gate.clear()
        elif self.local.worker_pid is not None:
            os.kill(self.local.worker_pid, signal.SIGSTOP)

    def go_on(self) -> None:
        if self.server is not None:
            self.server.gate.set()
        elif self.local.worker_pid is not None:
            os.kill(self.local.worker_pid, signal.SIGCONT)

    async def text(self, pcm: bytes, priority: Priority = FINAL) -> str:
        async with asyncio.timeout(WITHIN_S):
            return (await self.recognizer.transcribe(Speech(pcm, "en"), priority)).text


@asynccontextmanager
async def hearing(kind: str, local: FasterWhisperRecognizer) -> AsyncIterator[Hearing]:
    """Closed by whoever has it; `local` is the model of those that use one."""
    if kind == "in-process":
        yield Hearing(local, local, None)
        return
    async with AsyncExitStack() as stack:
        if kind == "pool without its server":
            port = stack.enter_context(unused_port())
            config = RemoteAsrConfig((f"http://127.0.0.1:{port}",), first_rest_s=600.0, **REMOTE)
            server = OpenAiRecognizer(config.urls[0], config)
            yield Hearing(RecognizerPool([server], local, config), local, None)
            return
        served = await stack.enter_async_context(speech_server(said(SHORT.text)))
        config = RemoteAsrConfig((served.url,), **REMOTE)
        server = OpenAiRecognizer(served.url, config)
        if kind == "server":
            yield Hearing(server, local, served, holds_a_line=False)
        else:
            yield Hearing(RecognizerPool([server], None, config), local, served)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def model(model_dir: Path) -> AsyncIterator[FasterWhisperRecognizer]:
    """One loaded model for all: who waits for a deadline here waits longer than any test does."""
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir, kill_after_s=3 * WITHIN_S))
    await recognizer.start()
    yield recognizer
    await recognizer.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def ears(request: pytest.FixtureRequest, model: FasterWhisperRecognizer) -> AsyncIterator[Hearing]:
    async with hearing(request.param, model) as open_ears:
        await open_ears.recognizer.start()
        yield open_ears
        if open_ears.server is not None:
            await open_ears.recognizer.aclose()


def noise(length_s: float, amplitude: int) -> bytes:
    random = Random(7)  # noqa: S311 - noise, not a secret
    samples = (random.randint(-amplitude, amplitude) for _ in range(round(length_s * SAMPLE_RATE)))
    return array("h", samples).tobytes()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():
            await asyncio.sleep(0.01)


async def test_speech_becomes_words_with_times_and_confidence(ears: Hearing) -> None:
    heard = await ears.recognizer.transcribe(Speech(SHORT.pcm, "en"), FINAL)
    assert heard.text == SHORT.text
    assert [word.text for word in heard.words] == SHORT.text.split()
    times = [time_s for word in heard.words for time_s in (word.start_s, word.end_s)]
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] <= duration_s(SHORT.pcm)
    assert 0.4 < heard.confidence <= 1.0
    assert (heard.language, heard.low_confidence, heard.untried) == ("en", False, False)
    assert heard.decode_s > 0


async def test_a_guess_has_no_words(ears: Hearing) -> None:
    heard = await ears.recognizer.transcribe(Speech(SHORT.pcm, "en", with_words=False), PARTIAL)
    assert (heard.text, heard.words) == (SHORT.text, ())


async def test_the_language_is_found_when_none_is_given(ears: Hearing) -> None:
    heard = await ears.recognizer.transcribe(Speech(SHORT.pcm, None), FINAL)
    assert heard.language == "en"


@pytest.mark.parametrize("pcm", [b"", b"\0", bytes(31 * 32_000)], ids=["empty", "half a sample", "31 s"])
async def test_audio_that_cannot_be_speech_is_refused(ears: Hearing, pcm: bytes) -> None:
    with pytest.raises(RequestRejected):
        await ears.text(pcm)


async def test_digital_silence_is_no_text(ears: Hearing) -> None:
    heard = await ears.recognizer.transcribe(Speech(bytes(10 * 32_000), "en"), FINAL)
    assert (heard.text, heard.words) == ("", ())


@pytest.mark.parametrize(
    "pcm",
    [bytes(2), noise(0.05, 9000), b"\xff\x7f" * 24_000],
    ids=["one sample", "a click", "clipped"],
)
async def test_no_sound_breaks_the_recogniser(ears: Hearing, pcm: bytes) -> None:
    assert isinstance(await ears.text(pcm), str)
    assert await ears.text(SHORT.pcm) == SHORT.text


async def test_finals_are_heard_before_what_came_earlier(ears: Hearing) -> None:
    if not ears.holds_a_line:
        pytest.skip("a server takes them as they come; the pool in front of it has the line")
    order: list[Priority] = []

    async def ask(priority: Priority) -> None:
        await ears.text(SHORT.pcm, priority)
        order.append(priority)

    ears.stop()
    asked = []
    for priority in (ANALYSIS, ANALYSIS, PARTIAL, EAGER, FINAL):
        asked.append(asyncio.create_task(ask(priority)))
        await asyncio.sleep(0.05)
    ears.go_on()
    await asyncio.gather(*asked)
    assert order == [ANALYSIS, FINAL, EAGER, PARTIAL, ANALYSIS]


async def test_who_is_cancelled_frees_the_place(ears: Hearing) -> None:
    ears.stop()
    asked = [asyncio.create_task(ears.text(TAIL)) for _ in range(6)]
    await asyncio.sleep(0.05)
    for one in asked:
        one.cancel()
    ears.go_on()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers)
    assert await ears.text(SHORT.pcm) == SHORT.text
    if ears.server is not None:
        await until(lambda: ears.server is not None and ears.server.active == 0)


async def test_many_at_once_are_all_answered(ears: Hearing) -> None:
    assert await asyncio.gather(*(ears.text(SHORT.pcm) for _ in range(3))) == [SHORT.text] * 3


async def test_no_word_reaches_a_log_line(ears: Hearing, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="inference")
    await ears.recognizer.transcribe(Speech(SHORT.pcm, "en", ("canarysong", "gRPC")), FINAL)
    assert SHORT.text not in caplog.text
    assert "canarysong" not in caplog.text


@pytest.mark.parametrize("kind", KINDS)
async def test_closing_answers_everybody_and_takes_nobody_more(kind: str, model_dir: Path) -> None:
    local = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    async with hearing(kind, local) as ears:
        ears.stop()
        asked = [asyncio.create_task(ears.text(TAIL)) for _ in range(3)]
        await asyncio.sleep(0.05)
        async with asyncio.timeout(WITHIN_S):
            await ears.recognizer.aclose()
            answers = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(answer, EngineUnavailable) for answer in answers)
            with pytest.raises(EngineUnavailable):
                await ears.text(TAIL)
        await local.aclose()
    assert local.worker_pid is None
