"""One whisper_worker process seen from its parent: started, asked, watched, ended. Knows no queue.

A plain Popen over a socket: cancelling the creation of asyncio's own hangs for good on Python 3.11.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from inference.adapters import wire
from inference.audio import duration_s
from inference.config import RecognizerConfig
from inference.ports import EngineUnavailable, Speech, Transcript

logger = logging.getLogger(__name__)

LOAD_S = 60.0  # a cold disk; measured 1-3 s
REAP_EVERY_S = 0.01
LAST_BREATH_S = 1.0  # from closing its end to its exit
PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class LostError(Exception):
    """Crashed, hung or garbled: the process is of no more use."""


class DecodeError(Exception):
    """The worker lives but could not decode this."""


class WorkerProcess:
    """A process with a loaded model; `gone` is done when it has closed its end. One question at a time."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._process, self._reader, self._writer = process, reader, writer
        self._answer: asyncio.Future[wire.Header] | None = None
        self.pid = process.pid
        self.gone = asyncio.create_task(self._listen(), name=f"whisper-worker-{self.pid}")

    @classmethod
    async def spawn(cls, config: RecognizerConfig, warm_up: bool) -> WorkerProcess:
        """Start and load. Raises EngineUnavailable with one line when the model cannot be loaded."""
        process, ours = _popen(config, warm_up)
        try:
            worker = cls(process, *await asyncio.open_connection(sock=ours))
        except BaseException:
            ours.close()
            await _reap(process, grace_s=0.0)
            raise
        try:
            header = await worker._loaded(config)
        except BaseException:
            await worker.end()
            raise
        logger.info("recogniser ready: pid %d, loaded in %.1f s", worker.pid, header.get("load_s", 0.0))
        return worker

    async def decode(self, speech: Speech, chinese_full: bool, within_s: float) -> Transcript:
        """Raises LostError (also when it takes longer than `within_s`) or DecodeError."""
        try:
            async with asyncio.timeout(within_s):
                answer = await self._ask(wire.pack(wire.speech_header(speech, chinese_full), speech.pcm))
            if "error" not in answer:
                return wire.transcript_from(answer)
        except TimeoutError as exc:
            raise LostError("hung") from exc
        except (OSError, ValueError, KeyError, TypeError) as exc:
            raise LostError("crashed") from exc
        raise DecodeError(str(answer["error"]))

    async def end(self, grace_s: float = 0.0) -> None:
        """Let it go: the end of its input ends it; what does not end in time is killed."""
        if not grace_s:
            self._process.kill()  # before anything that could be cancelled
        self.gone.cancel()
        self._writer.close()
        await asyncio.wait([self.gone])
        await _reap(self._process, grace_s)

    async def _loaded(self, config: RecognizerConfig) -> wire.Header:
        try:
            async with asyncio.timeout(LOAD_S):
                header = await self._next()
        except TimeoutError as exc:
            raise EngineUnavailable(f"{_loading(config)} took longer than {LOAD_S:.0f} s") from exc
        except LostError as exc:
            await _reap(self._process, LAST_BREATH_S)
            raise EngineUnavailable(f"{_loading(config)} {_end_of(self._process.returncode)}") from exc
        if not header.get("ready"):
            raise EngineUnavailable(load_line(config, str(header.get("line", ""))))
        return header

    async def _ask(self, message: bytes) -> wire.Header:
        self._writer.write(message)
        await self._writer.drain()
        return await self._next()

    async def _next(self) -> wire.Header:
        if self.gone.done():
            raise LostError("ended")
        self._answer = asyncio.get_running_loop().create_future()
        return await self._answer

    async def _listen(self) -> None:
        """Take answers until the process closes its end, which it does however it dies."""
        try:
            while True:
                header, _ = await wire.receive(self._reader)
                if self._answer is not None and not self._answer.done():
                    self._answer.set_result(header)
        except (EOFError, OSError, ValueError, wire.WireError):
            if self._answer is not None and not self._answer.done():
                self._answer.set_exception(LostError("crashed"))


def load_line(config: RecognizerConfig, why: str) -> str:
    """What is wrong with the files, and what to do."""
    return f"cannot load the speech model {_name(config)} ({why}): fetch it with `manage.py models fetch`"


def _name(config: RecognizerConfig) -> str:
    """Candidates' pages are sent it too: the folder's name, not its path."""
    return config.model_dir.name if config.model_dir else "none"


def _loading(config: RecognizerConfig) -> str:
    return f"the process that loads the speech model {_name(config)}"


def _end_of(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    return f"was killed ({name}): from outside or for want of memory" if name == "SIGKILL" else f"got {name}"


def decode_limit_s(config: RecognizerConfig, speech: Speech) -> float:
    return config.kill_after_s + duration_s(speech.pcm)


async def _reap(process: subprocess.Popen[bytes], grace_s: float) -> None:
    """No zombie stays. Polled: a thread that waits would outlive a cancelled loop."""
    loop = asyncio.get_running_loop()
    kill_at_s = loop.time() + grace_s
    while process.poll() is None:
        if loop.time() >= kill_at_s:
            process.kill()
        await asyncio.sleep(REAP_EVERY_S)


def _popen(config: RecognizerConfig, warm_up: bool) -> tuple[subprocess.Popen[bytes], socket.socket]:
    command = _command(config, warm_up)
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command, stdin=theirs.fileno(), stdout=theirs.fileno(), env=_environment(config)
            )
        except OSError as exc:
            ours.close()
            raise EngineUnavailable(f"cannot start the recogniser's process ({exc.strerror})") from exc
    return process, ours


def _command(config: RecognizerConfig, warm_up: bool) -> list[str]:
    if config.model_dir is None:
        raise EngineUnavailable("no speech model: fetch one with `manage.py models fetch`")
    if not (config.model_dir / "model.bin").is_file():
        raise EngineUnavailable(load_line(config, "no model.bin"))
    options = {
        "--model-dir": config.model_dir,
        "--device": config.device,
        "--compute-type": config.compute_type,
        "--threads": config.threads,
        "--nice": config.nice,
        "--parent": os.getpid(),
    }
    pairs = [str(part) for pair in options.items() for part in pair]
    warm = ["--warm-up"] if warm_up else []
    return [sys.executable, "-m", "inference.adapters.whisper_worker", *pairs, *warm]


def _environment(config: RecognizerConfig) -> dict[str, str]:
    """Waiting OpenMP threads must sleep, not spin: the cores are shared with the web process."""
    paths = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": str(config.threads),
        "OMP_WAIT_POLICY": "PASSIVE",
        "KMP_BLOCKTIME": "0",
        "HF_HUB_OFFLINE": "1",
        "ORT_DISABLE_TELEMETRY": "1",
    }
