"""Smart Turn v3.2 with onnxruntime: how sure it sounds that a turn is over. Optional; knows no words.

It hears the last 8 s of a turn as Whisper's log-mel spectrogram, in one thread of its own, within a deadline.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE
from inference.observe import Observe, ignore
from inference.ports import EngineUnavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

logger = logging.getLogger(__name__)

MODEL_FILE = "smart-turn-v3.2-cpu.onnx"
HEARD_S = 8
HEARD_SAMPLES = HEARD_S * SAMPLE_RATE
N_FFT, HOP, MELS = 400, 160, 80
WITHIN_S = 0.5
WAITING = 8  # pauses that wait for their answer; with more the clocks go by the rules alone
THREADS = 1


class SmartTurn:
    """One model a process. `over` never raises and never waits longer than its deadline."""

    def __init__(self, folder: Path, observe: Observe = ignore, within_s: float = WITHIN_S) -> None:
        # onnxruntime's wheels report to their maker unless told not to before they are loaded.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime  # noqa: PLC0415 - only processes that listen pay for the engine's memory

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(folder / MODEL_FILE), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except Exception as exc:
            raise EngineUnavailable(f"cannot load {MODEL_FILE}: fetch smart-turn again") from exc
        self._observe, self._within_s = observe, within_s
        self._thread = ThreadPoolExecutor(1, "smart turn")
        self._waiting = 0
        self._closed = False

    async def over(self, pcm: bytes) -> float | None:
        """0.0-1.0 for the audio up to a pause; None when it cannot tell in time."""
        if self._closed or self._waiting >= WAITING:
            self._observe("fallback:turn_model", 1)
            return None
        self._waiting += 1
        asked = time.monotonic()
        working = asyncio.get_running_loop().run_in_executor(self._thread, self._score, pcm)
        working.add_done_callback(self._done)
        try:
            # Not awaited itself: closing cancels it, and whoever asks is not to be cancelled with it.
            done, _ = await asyncio.wait([working], timeout=self._within_s)
            score = working.result() if done and not working.cancelled() else None
        except Exception as exc:  # noqa: BLE001 - broken: the rules decide as without a model
            logger.warning("turn model failed: %s", type(exc).__name__)
            score = None
        if score is None:
            logger.info("turn model gave no answer")
            self._observe("fallback:turn_model", 1)
        else:
            self._observe("turn_model_s", time.monotonic() - asked)
        return score

    async def aclose(self) -> None:
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _done(self, working: asyncio.Future[float]) -> None:
        self._waiting -= 1
        if not working.cancelled():
            working.exception()  # told by whoever still waited

    def _score(self, pcm: bytes) -> float:
        probabilities = self._session.run(None, {"input_features": log_mel(pcm)[None]})[0]
        return float(probabilities[0, 0])


def log_mel(pcm: bytes) -> Floats:
    """(80, 800): what the model was trained on, Whisper's features of 8 s that end where the audio ends."""
    import numpy as np  # noqa: PLC0415

    last = np.frombuffer(pcm[-HEARD_SAMPLES * BYTES_PER_SAMPLE :], "<i2").astype(np.float32) / 32768
    heard = np.pad(last, (HEARD_SAMPLES - last.size, 0))
    heard = (heard - heard.mean()) / np.sqrt(heard.var() + 1e-7)
    padded = np.pad(heard, N_FFT // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, N_FFT)[::HOP][:-1]
    power = np.abs(np.fft.rfft(frames * np.hanning(N_FFT + 1)[:-1])) ** 2
    logged = np.log10(np.maximum(_filters() @ power.T, 1e-10))
    features: Floats = ((np.maximum(logged, logged.max() - 8.0) + 4.0) / 4.0).astype(np.float32)
    return features


def _filters() -> Floats:
    """Slaney's triangles: linear up to 1 kHz, logarithmic above, each of the same area."""
    import numpy as np  # noqa: PLC0415

    step = np.log(6.4) / 27.0
    top = 15.0 + np.log(SAMPLE_RATE / 2 / 1000.0) / step
    mels = np.linspace(0.0, top, MELS + 2)
    edges = np.where(mels < 15.0, 200.0 * mels / 3.0, 1000.0 * np.exp(step * (mels - 15.0)))
    bins = np.linspace(0.0, SAMPLE_RATE / 2, N_FFT // 2 + 1)
    slopes = edges[:, None] - bins[None, :]
    width = np.diff(edges)[:, None]
    triangles = np.maximum(0.0, np.minimum(-slopes[:-2] / width[:-1], slopes[2:] / width[1:]))
    return np.asarray(triangles * (2.0 / (edges[2:] - edges[:-2]))[:, None], np.float32)
