"""The recogniser of a process: a priority line in front of one worker process that can be killed.

Never imports the model library itself: a hung or crashed decode costs a worker, not the web process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from inference.adapters.waiting import Load, Request, WaitingLine, require_speech
from inference.adapters.worker_process import DecodeError, LostError, WorkerProcess, decode_limit_s
from inference.config import RecognizerConfig
from inference.observe import Observe, ignore
from inference.ports import EngineUnavailable, Priority, Speech, Transcript

logger = logging.getLogger(__name__)

MAX_WAITING = 64
TRIES = 2
FIRST_BACKOFF_S, LAST_BACKOFF_S = 1.0, 30.0
END_S = 1.0
BUSY_SHARE = 0.6  # of the last seconds: the rest is kept for who waits for his words


class FasterWhisperRecognizer:
    """Belongs to the event loop that first uses it. `counters` tells what was retried, dropped and lost.

    Observes `asr_wait_s` and `asr_decode_s` per answer, and `asr_<counter>` for each of `counters`.
    """

    def __init__(self, config: RecognizerConfig, observe: Observe = ignore) -> None:
        self._config = config
        self._observe = observe
        self.counters: Counter[str] = Counter()
        self._line = WaitingLine(MAX_WAITING, self.counters)
        self._load = Load()
        self._wake = asyncio.Event()
        self._settled = asyncio.Event()  # the first load succeeded or failed
        self._worker: WorkerProcess | None = None
        self._serving: asyncio.Task[None] | None = None
        self._down: EngineUnavailable | None = None
        self._closed = False

    @property
    def ready(self) -> bool:
        return self._worker is not None

    @property
    def worker_pid(self) -> int | None:
        return self._worker.pid if self._worker else None

    @property
    def waiting(self) -> int:
        return len(self._line)

    @property
    def busy(self) -> bool:
        return len(self._line) > 0 or self._load.share > BUSY_SHARE

    def hasten(self, speech: Speech) -> None:
        self._line.hasten(speech)

    async def start(self) -> None:
        """Load the model. Raises EngineUnavailable with one line that says what is wrong with it."""
        self._begin()
        await self._settled.wait()
        if self._down is not None:
            raise self._down

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        require_speech(speech)
        self._begin()
        if self._down is not None:
            raise EngineUnavailable(str(self._down))
        request = Request(speech, priority, asyncio.get_running_loop().create_future())
        self._line.put(request)
        self._wake.set()
        return await request.answer

    async def aclose(self) -> None:
        self._closed = True
        if self._serving is not None:
            self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving
        self._fail_waiting(EngineUnavailable("the recogniser is closed"))
        if self._worker is not None:
            await self._worker.end(END_S)
            self._worker = None

    def _begin(self) -> None:
        if self._closed:
            raise EngineUnavailable("the recogniser is closed")
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve(), name="recognizer")

    async def _serve(self) -> None:
        backoff_s = FIRST_BACKOFF_S
        while True:
            try:
                await self._live()
                backoff_s = FIRST_BACKOFF_S
                if request := self._line.pop():
                    await self._serve_one(request)
                else:
                    await self._idle()
            except Exception as exc:  # noqa: BLE001 - out of files, say: who waits is told, and it is tried again
                self._down = down = _unavailable(exc)
                logger.warning("no recogniser, next try in %.0f s: %s", backoff_s, down)
                self._settled.set()
                self._fail_waiting(down)
                await asyncio.sleep(backoff_s)
                backoff_s = min(LAST_BACKOFF_S, backoff_s * 2)

    async def _serve_one(self, request: Request) -> None:
        """Whatever happens, nobody is left waiting for an answer."""
        try:
            await self._answer(request)
        except EngineUnavailable as exc:
            _refuse(request, exc)
            raise
        except Exception as exc:
            logger.exception("the recogniser's own fault")
            await self._lose("was confused")
            _refuse(request, _unavailable(exc))
        finally:
            _refuse(request, EngineUnavailable("the recogniser is closed"))

    async def _live(self) -> None:
        """Have a worker. Raises EngineUnavailable when none can be had."""
        if self._worker is not None:
            return
        # After a loss somebody may be waiting: the first decode is then the warm-up.
        self._worker = await WorkerProcess.spawn(self._config, warm_up=not self._settled.is_set())
        self._worker.gone.add_done_callback(lambda _task: self._wake.set())
        self._down = None
        self._settled.set()

    async def _idle(self) -> None:
        """Wait for a request. A worker that dies meanwhile is replaced before anyone needs it."""
        self._wake.clear()
        if len(self._line):
            return
        if self._worker is not None and not self._worker.gone.done():
            await self._wake.wait()
        if self._worker is not None and self._worker.gone.done():
            await self._lose("ended while idle")

    async def _lose(self, why: str) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        self._count("worker_lost")
        logger.warning("recogniser process %d %s; starting another", worker.pid, why)
        await worker.end()

    async def _answer(self, request: Request) -> None:
        """Serve one request, trying again once. A failed reload raises, after the request was refused."""
        self._observe("asr_wait_s", time.monotonic() - request.arrived_s)
        for attempt in range(1, TRIES + 1):
            if request.given_up:
                self._count("given_up")
                return
            if attempt > 1:
                self._count("retried")
            if await self._try(request):
                return
        self._count("failed")
        _refuse(request, EngineUnavailable("the recogniser failed twice on this utterance"))

    async def _try(self, request: Request) -> bool:
        await self._live()
        worker = self._worker
        if worker is None:
            return False
        try:
            with self._load.work():
                transcript = await self._decode(worker, request)
        except LostError as exc:
            await self._lose(str(exc))
            return False
        except DecodeError as exc:
            logger.warning("a decode failed: %s", exc)
            return False
        self._observe("asr_decode_s", transcript.decode_s)
        if transcript.retried:
            self._count("window_retried")
        if transcript.untried:
            self._count("window_untried")
        if not request.answer.done():
            request.answer.set_result(transcript)
        return True

    async def _decode(self, worker: WorkerProcess, request: Request) -> Transcript:
        full = self._config.chinese_full_window and request.priority is not Priority.PARTIAL
        limit_s = decode_limit_s(self._config, request.speech)
        return await worker.decode(_with_time_left(request), chinese_full=full, within_s=limit_s)

    def _fail_waiting(self, exc: EngineUnavailable) -> None:
        while request := self._line.pop():
            _refuse(request, exc)

    def _count(self, name: str) -> None:
        self.counters[name] += 1
        self._observe(f"asr_{name}", 1.0)


def _with_time_left(request: Request) -> Speech:
    """What of the caller's time the line has not used up; a guess is never tried twice."""
    if request.priority is Priority.PARTIAL:
        return replace(request.speech, answer_within_s=0.0)
    within_s = request.speech.answer_within_s
    if within_s is None:
        return request.speech
    left_s = within_s - (time.monotonic() - request.arrived_s)
    return replace(request.speech, answer_within_s=max(0.0, left_s))


def _unavailable(exc: Exception) -> EngineUnavailable:
    """Its text goes to pages: of what was not foreseen it has the name alone."""
    if isinstance(exc, EngineUnavailable):
        return exc
    return EngineUnavailable(f"no recogniser: {type(exc).__name__}")


def _refuse(request: Request, exc: EngineUnavailable) -> None:
    if not request.answer.done():
        request.answer.set_exception(EngineUnavailable(str(exc)))
