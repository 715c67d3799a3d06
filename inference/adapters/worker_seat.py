"""One place behind the recogniser's line: a worker process, replaced when lost, and whom it serves.

Knows the line it takes requests from; not who else takes from it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from inference.adapters.waiting import Load, Request
from inference.adapters.worker_process import DecodeError, LostError, WorkerProcess, decode_limit_s
from inference.config import RecognizerConfig
from inference.observe import Observe
from inference.ports import EngineError, EngineUnavailable, Priority, Speech

logger = logging.getLogger(__name__)

TRIES = 2
FIRST_BACKOFF_S, LAST_BACKOFF_S = 1.0, 30.0
END_S = 1.0


class Desk(Protocol):
    """What the seats of one recogniser share."""

    load: Load

    def take(self) -> Request | None:
        """The request that is next, if one may be served by one more seat."""

    def done(self, request: Request) -> None:
        """This seat does not work on it any more."""

    def put_back(self, request: Request) -> None:
        """To its old place, for whoever is free first. Raises EngineError when it cannot wait any more."""

    def told(self) -> None:
        """This seat has a worker, or it found that it can have none (`down` says why)."""

    def count(self, name: str) -> None: ...


class WorkerSeat:
    """Belongs to the event loop that begins it. `down`: why it has no worker, once that is known."""

    def __init__(self, config: RecognizerConfig, desk: Desk, observe: Observe) -> None:
        self._config, self._desk, self._observe = config, desk, observe
        self._wake = asyncio.Event()
        self._worker: WorkerProcess | None = None
        self._serving: asyncio.Task[None] | None = None
        self._told = False
        self.down: EngineUnavailable | None = None

    @property
    def pid(self) -> int | None:
        return self._worker.pid if self._worker else None

    def begin(self) -> None:
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve(), name="recognizer")

    def wake(self) -> None:
        """Somebody came into the line."""
        self._wake.set()

    async def aclose(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            with suppress(asyncio.CancelledError):
                await self._serving
        if self._worker is not None:
            await self._worker.end(END_S)
            self._worker = None

    async def _serve(self) -> None:
        backoff_s = FIRST_BACKOFF_S
        while True:
            try:
                await self._live()
                backoff_s = FIRST_BACKOFF_S
                if request := self._desk.take():
                    await self._serve_one(request)
                else:
                    await self._idle()
            except Exception as exc:  # noqa: BLE001 - out of files, say: who waits is told, and it is tried again
                self._tell(_unavailable(exc))
                logger.warning("no recogniser, next try in %.0f s: %s", backoff_s, self.down)
                await asyncio.sleep(backoff_s)
                backoff_s = min(LAST_BACKOFF_S, backoff_s * 2)

    def _tell(self, down: EngineUnavailable | None) -> None:
        self.down, self._told = down, True
        self._desk.told()

    async def _live(self) -> None:
        """Have a worker. Raises EngineUnavailable when none can be had."""
        if self._worker is not None:
            return
        # After a loss somebody may be waiting: the first decode is then the warm-up.
        self._worker = await WorkerProcess.spawn(self._config, warm_up=not self._told)
        self._worker.gone.add_done_callback(lambda _task: self._wake.set())
        self._tell(None)

    async def _idle(self) -> None:
        """Wait for a request. A worker that dies meanwhile is replaced before anyone needs it."""
        self._wake.clear()
        if self._worker is not None and not self._worker.gone.done():
            await self._wake.wait()
        if self._worker is not None and self._worker.gone.done():
            await self._lose("ended while idle")

    async def _lose(self, why: str) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        self._desk.count("worker_lost")
        logger.warning("recogniser process %d %s; starting another", worker.pid, why)
        await worker.end()

    async def _serve_one(self, request: Request) -> None:
        """Whatever happens, nobody is left waiting for an answer."""
        try:
            await self._answer(request)
        except asyncio.CancelledError:
            refuse(request, "the recogniser is closed")
            raise
        except Exception as exc:  # what one utterance brings about must not end the seat for all others
            logger.exception("the recogniser's own fault")
            refuse(request, str(_unavailable(exc)))
            await self._lose("was confused")
        finally:
            self._desk.done(request)

    async def _answer(self, request: Request) -> None:
        """Try once. Failed, it goes back to the line."""
        worker = self._worker
        if worker is None or request.given_up:
            self._desk.count("given_up")
            return
        if request.tries:
            self._desk.count("retried")
        else:
            self._observe("asr_wait_s", time.monotonic() - request.arrived_s)
        request.tries += 1
        try:
            with self._desk.load.work():
                await self._decode(worker, request)
        except LostError as exc:
            await self._lose(str(exc))
            self._again(request)
        except DecodeError as exc:
            logger.warning("a decode failed: %s", exc)
            self._again(request)

    def _again(self, request: Request) -> None:
        """Whoever is free first tries it once more."""
        if request.given_up:
            return
        if request.tries >= TRIES:
            self._desk.count("failed")
            refuse(request, "the recogniser failed twice on this utterance")
            return
        try:
            self._desk.put_back(request)
        except EngineError as exc:
            refuse(request, str(exc))

    async def _decode(self, worker: WorkerProcess, request: Request) -> None:
        full = self._config.chinese_full_window and request.priority is not Priority.PARTIAL
        limit_s = decode_limit_s(self._config, request.speech)
        transcript = await worker.decode(_with_time_left(request), chinese_full=full, within_s=limit_s)
        self._observe("asr_decode_s", transcript.decode_s)
        if transcript.retried:
            self._desk.count("window_retried")
        if transcript.untried:
            self._desk.count("window_untried")
        if not request.answer.done():
            request.answer.set_result(transcript)


def refuse(request: Request, why: str) -> None:
    if not request.answer.done():
        request.answer.set_exception(EngineUnavailable(why))


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
