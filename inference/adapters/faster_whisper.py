"""The recogniser of a process: a priority line in front of one worker process that can be killed.

Never imports the model library itself: a hung or crashed decode costs a worker, not the web process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from contextlib import suppress
from pathlib import Path

from inference.adapters import wire
from inference.adapters.waiting import Request, WaitingLine
from inference.audio import BYTES_PER_SAMPLE, duration_s
from inference.config import RecognizerConfig
from inference.observe import Observe, ignore
from inference.ports import EngineUnavailable, Priority, RequestRejected, Speech, Transcript

logger = logging.getLogger(__name__)

MAX_WAITING = 64
MAX_AUDIO_S = 30.0
LOAD_S = 60.0  # a cold disk; measured 1-3 s
TRIES = 2
FIRST_BACKOFF_S, LAST_BACKOFF_S = 1.0, 30.0
END_S = 1.0
PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class _LostError(Exception):
    """Crashed, hung or garbled: the process is of no more use."""


class _DecodeError(Exception):
    """The worker lives but could not decode this."""


class _Worker:
    """One process with a loaded model."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.pid = process.pid

    @classmethod
    async def spawn(cls, config: RecognizerConfig, warm_up: bool) -> _Worker:
        """Start and load. Raises EngineUnavailable with one line when the model cannot be loaded."""
        process = await asyncio.create_subprocess_exec(
            *_command(config),
            *(["--warm-up"] if warm_up else []),
            stdin=PIPE,
            stdout=PIPE,
            env=_environment(config),
        )
        worker = cls(process)
        try:
            async with asyncio.timeout(LOAD_S):
                header, _ = await wire.receive(worker._stdout)
        except (TimeoutError, EOFError, wire.WireError) as exc:
            await worker.end()
            raise EngineUnavailable(_load_line(config, f"worker ended ({process.returncode})")) from exc
        except asyncio.CancelledError:
            await worker.end()
            raise
        if not header.get("ready"):
            await worker.end()
            raise EngineUnavailable(_load_line(config, str(header.get("line", ""))))
        logger.info("recogniser ready: pid %d, loaded in %.1f s", worker.pid, header.get("load_s", 0.0))
        return worker

    @property
    def _stdout(self) -> asyncio.StreamReader:
        if self._process.stdout is None:
            raise RuntimeError("the worker was started without a pipe")
        return self._process.stdout

    async def wait(self) -> int:
        return await self._process.wait()

    async def decode(self, request: Request, kill_after_s: float) -> Transcript:
        """Raises _LostError or _DecodeError. The deadline covers the decode, not the wait before it."""
        speech = request.speech
        header = wire.speech_header(speech, chinese_full=request.priority is not Priority.PARTIAL)
        try:
            async with asyncio.timeout(kill_after_s + duration_s(speech.pcm)):
                answer = await self._ask(wire.pack(header, speech.pcm))
            if "error" not in answer:
                return wire.transcript_from(answer)
        except TimeoutError as exc:
            raise _LostError("hung") from exc
        except (EOFError, OSError, ValueError, KeyError, TypeError, wire.WireError) as exc:
            raise _LostError("crashed") from exc
        raise _DecodeError(answer["error"])

    async def _ask(self, message: bytes) -> wire.Header:
        stdin = self._process.stdin
        if stdin is None:
            raise RuntimeError("the worker was started without a pipe")
        stdin.write(message)
        await stdin.drain()
        header, _ = await wire.receive(self._stdout)
        return header

    async def end(self, grace_s: float = 0.0) -> None:
        """Let it go: closing its stdin ends it; what does not end in time is killed."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(grace_s):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class FasterWhisperRecognizer:
    """Belongs to the event loop that first uses it. `counters` tells what was retried, dropped and lost.

    Observes `asr_wait_s` and `asr_decode_s` per answer, and `asr_<counter>` for each of `counters`.
    """

    def __init__(self, config: RecognizerConfig, observe: Observe = ignore) -> None:
        self._config = config
        self._observe = observe
        self.counters: Counter[str] = Counter()
        self._line = WaitingLine(MAX_WAITING, self.counters)
        self._wake = asyncio.Event()
        self._settled = asyncio.Event()  # the first load succeeded or failed
        self._worker: _Worker | None = None
        self._serving: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
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

    async def start(self) -> None:
        """Load the model. Raises EngineUnavailable with one line that says what is wrong with it."""
        self._begin()
        await self._settled.wait()
        if self._down is not None:
            raise self._down

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        _check(speech)
        self._begin()
        if self._down is not None:
            raise EngineUnavailable(str(self._down))
        request = Request(speech, priority, asyncio.get_running_loop().create_future())
        self._line.put(request)
        self._wake.set()
        return await request.answer

    async def aclose(self) -> None:
        self._closed = True
        for task in (self._serving, self._watching):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
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
            except EngineUnavailable as exc:
                logger.warning("no recogniser, next try in %.0f s: %s", backoff_s, exc)
                self._down = exc
                self._settled.set()
                self._fail_waiting(exc)
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
            _refuse(request, EngineUnavailable(f"the recogniser failed: {type(exc).__name__}"))
        finally:
            _refuse(request, EngineUnavailable("the recogniser is closed"))

    async def _live(self) -> None:
        """Have a worker. Raises EngineUnavailable when none can be had."""
        if self._worker is not None:
            return
        # After a loss somebody may be waiting: the first decode is then the warm-up.
        self._worker = await _Worker.spawn(self._config, warm_up=not self._settled.is_set())
        self._watching = asyncio.create_task(self._watch(self._worker), name="recognizer-watch")
        self._down = None
        self._settled.set()

    async def _watch(self, worker: _Worker) -> None:
        """A worker that dies while idle is replaced before anyone needs it."""
        await worker.wait()
        self._wake.set()

    async def _idle(self) -> None:
        self._wake.clear()
        if not len(self._line) and self._watching and not self._watching.done():
            await self._wake.wait()
        if self._watching and self._watching.done() and self._worker:
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
            transcript = await worker.decode(request, self._config.kill_after_s)
        except _LostError as exc:
            await self._lose(str(exc))
            return False
        except _DecodeError as exc:
            logger.warning("a decode failed: %s", exc)
            return False
        self._observe("asr_decode_s", transcript.decode_s)
        if transcript.retried:
            self._count("window_retried")
        if not request.answer.done():
            request.answer.set_result(transcript)
        return True

    def _fail_waiting(self, exc: EngineUnavailable) -> None:
        while request := self._line.pop():
            _refuse(request, exc)

    def _count(self, name: str) -> None:
        self.counters[name] += 1
        self._observe(f"asr_{name}", 1.0)


def _refuse(request: Request, exc: EngineUnavailable) -> None:
    if not request.answer.done():
        request.answer.set_exception(EngineUnavailable(str(exc)))


def _check(speech: Speech) -> None:
    if not speech.pcm or len(speech.pcm) % BYTES_PER_SAMPLE:
        raise RequestRejected("audio is empty or has half a sample")
    if duration_s(speech.pcm) > MAX_AUDIO_S:
        raise RequestRejected(f"audio is longer than {MAX_AUDIO_S:.0f} s")


def _command(config: RecognizerConfig) -> list[str]:
    if config.model_dir is None:
        raise EngineUnavailable("no speech model: fetch one with `manage.py models`")
    if not (config.model_dir / "model.bin").is_file():
        raise EngineUnavailable(_load_line(config, "no model.bin"))
    options = {
        "--model-dir": config.model_dir,
        "--device": config.device,
        "--compute-type": config.compute_type,
        "--threads": config.threads,
        "--nice": config.nice,
        "--parent": os.getpid(),
    }
    pairs = [str(part) for pair in options.items() for part in pair]
    return [sys.executable, "-m", "inference.adapters.whisper_worker", *pairs]


def _environment(config: RecognizerConfig) -> dict[str, str]:
    """Waiting OpenMP threads must sleep, not spin: the cores are shared with the web process."""
    paths = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": str(config.threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
        "HF_HUB_OFFLINE": "1",
    }


def _load_line(config: RecognizerConfig, why: str) -> str:
    return f"cannot load the speech model in {config.model_dir} ({why}): fetch it with `manage.py models`"
