"""Silero VAD streamed with onnxruntime, one thread a process for all sessions.

The model is the file inside faster-whisper, found without importing that package: the web process needs
1 MB of weights, not a speech recogniser. Knows no endpointing.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference.audio import WINDOW_BYTES, WINDOW_SAMPLES, AudioChunk
from inference.ports import EngineUnavailable, RequestRejected

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

CONTEXT_SAMPLES = 64  # the model hears the end of the window before
STATE_SIZE = 128
MAX_WAITING = 2048  # a stream has one window in flight, so this bounds the streams that speak at once
CLOSE_WAIT_S = 2.0


def model_file() -> Path:
    """The silero file that ships with faster-whisper. Raises EngineUnavailable when there is none."""
    spec = find_spec("faster_whisper")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder, "assets").glob("silero_vad*.onnx"), reverse=True):
            return path
    raise EngineUnavailable("no Silero VAD file: reinstall faster-whisper")


@dataclass(eq=False, slots=True)
class _State:
    """What the model remembers of one stream."""

    context: Floats
    h: Floats
    c: Floats


@dataclass(eq=False, slots=True)
class _Job:
    state: _State
    pcm: bytes
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[float]
    result: float | EngineUnavailable = field(default=0.0)


class SileroVoiceDetector:
    """Takes windows of all streams and scores them in its own thread, so that the event loop never computes.

    Windows that arrive during a round are scored in the next one and answered in one wake-up of the loop.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._model = _Model(path or model_file())
        self._waiting: deque[_Job] = deque()
        self._wake = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="silero", daemon=True)
        self._thread.start()

    def stream(self) -> SileroVoiceStream:
        return SileroVoiceStream(self, self._model.fresh())

    def put(self, job: _Job) -> None:
        with self._wake:
            if self._closed:
                raise EngineUnavailable("the voice detector is closed")
            if len(self._waiting) >= MAX_WAITING:
                raise EngineUnavailable("the voice detector is overrun")
            self._waiting.append(job)
            self._wake.notify()

    async def aclose(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join, CLOSE_WAIT_S)

    def _work(self) -> None:
        while jobs := self._take():
            for job in jobs:
                try:
                    job.result = self._model.probability(job.state, job.pcm)
                except Exception as exc:  # noqa: BLE001 - the thread's top: the stream fails, the others go on
                    job.result = EngineUnavailable(f"voice detection failed: {type(exc).__name__}")
            _deliver(jobs)

    def _take(self) -> list[_Job]:
        with self._wake:
            while not self._waiting and not self._closed:
                self._wake.wait()
            jobs = list(self._waiting)
            self._waiting.clear()
        return jobs


class SileroVoiceStream:
    def __init__(self, detector: SileroVoiceDetector, state: _State) -> None:
        self._detector, self._state = detector, state

    async def probability(self, window: AudioChunk) -> float:
        if len(window.pcm) != WINDOW_BYTES:
            raise RequestRejected(f"a window has {WINDOW_SAMPLES} samples, not {window.samples}")
        loop = asyncio.get_running_loop()
        job = _Job(self._state, window.pcm, loop, loop.create_future())
        self._detector.put(job)
        return await job.answer


def _deliver(jobs: list[_Job]) -> None:
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[_Job]] = defaultdict(list)
    for job in jobs:
        by_loop[job.loop].append(job)
    for loop, theirs in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, theirs)
        except RuntimeError:  # the loop ended while its window was scored: nobody waits any more
            continue


def _settle(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.answer.done():
            continue
        if isinstance(job.result, EngineUnavailable):
            job.answer.set_exception(job.result)
        else:
            job.answer.set_result(job.result)


class _Model:
    """faster-whisper's export of Silero v6: `input` (windows, 64 + 512), LSTM state `h` and `c` (1, 1, 128).

    Its first axis is time, not streams, so each stream is a run of its own (0.09 ms).
    """

    def __init__(self, path: Path) -> None:
        # onnxruntime's wheels report to their maker unless told not to before they are loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import numpy as np  # noqa: PLC0415 - only processes that listen pay for the engine's memory
        import onnxruntime  # noqa: PLC0415

        self._np = np
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 4
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(path), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as exc:
            raise EngineUnavailable(
                f"cannot load the voice detector {path.name}: reinstall faster-whisper"
            ) from exc

    def fresh(self) -> _State:
        zeros, float32 = self._np.zeros, self._np.float32
        state = (1, 1, STATE_SIZE)
        return _State(zeros((1, CONTEXT_SAMPLES), float32), zeros(state, float32), zeros(state, float32))

    def probability(self, state: _State, pcm: bytes) -> float:
        np = self._np
        samples = np.frombuffer(pcm, "<i2").astype(np.float32)[None] / 32768.0
        heard = np.concatenate([state.context, samples], axis=1)
        score, state.h, state.c = self._session.run(None, {"input": heard, "h": state.h, "c": state.c})
        state.context = heard[:, -CONTEXT_SAMPLES:]
        return float(score[0])
