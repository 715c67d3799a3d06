"""Silero VAD with onnxruntime, many streams in one call. Knows no endpointing and no thread.

The weights next to this file are Silero VAD v6 (github.com/snakers4/silero-vad, MIT licence, © Silero Team)
as exported in faster-whisper, whose first axis was time: one transposition makes it the streams.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inference.audio import WINDOW_BYTES, WINDOW_SAMPLES
from inference.ports import EngineUnavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

MODEL_FILE = Path(__file__).with_name("silero_vad_v6_streams.onnx")
CONTEXT_SAMPLES = 64  # the model hears the end of the window before
STATE_SIZE = 128
H, C = CONTEXT_SAMPLES, CONTEXT_SAMPLES + STATE_SIZE  # where its parts begin in what is remembered
# After long quiet the LSTM hears the next word up to 0.5 s late (measured, 20-60 s): it begins anew.
QUIET_BELOW, QUIET_WINDOWS = 0.35, 94


@dataclass(eq=False, slots=True)
class _State:
    """What the model remembers of one stream, in one row: the context, then `h` and `c` of its LSTM.

    `quiet` counts windows without voice.
    """

    row: Floats
    quiet: int = 0

    def rest(self, score: float) -> None:
        self.quiet = self.quiet + 1 if score < QUIET_BELOW else 0
        if self.quiet >= QUIET_WINDOWS:
            self.row[H:], self.quiet = 0.0, 0


class SileroModel:
    """`input` (streams, 64 + 512), LSTM state `h` and `c` (1, streams, 128), a probability a stream."""

    def __init__(self, path: Path = MODEL_FILE) -> None:
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
            raise EngineUnavailable(f"cannot load the voice detector {path.name}: reinstall") from exc

    def fresh(self) -> object:
        return _State(self._np.zeros(C + STATE_SIZE, self._np.float32))

    def score(self, states: Sequence[object], windows: Sequence[bytes]) -> Sequence[float]:
        np, remembered = self._np, cast("Sequence[_State]", states)
        if any(len(window) != WINDOW_BYTES for window in windows):
            raise EngineUnavailable(f"a window has {WINDOW_SAMPLES} samples")
        count = len(windows)
        before = np.concatenate([state.row for state in remembered]).reshape(count, -1)
        heard = np.empty((count, CONTEXT_SAMPLES + WINDOW_SAMPLES), np.float32)
        heard[:, :CONTEXT_SAMPLES] = before[:, :H]
        samples = np.frombuffer(b"".join(windows), "<i2").reshape(count, WINDOW_SAMPLES)
        np.multiply(samples, np.float32(1 / 32768), out=heard[:, CONTEXT_SAMPLES:], dtype=np.float32)
        h, c = (np.ascontiguousarray(before[None, :, at : at + STATE_SIZE]) for at in (H, C))
        scores, h, c = self._session.run(None, {"input": heard, "h": h, "c": c})
        after = np.concatenate([heard[:, -CONTEXT_SAMPLES:], h[0], c[0]], axis=1)
        told = cast("list[float]", scores.reshape(-1).tolist())
        for state, row, score in zip(remembered, after, told, strict=True):
            state.row = row.copy()  # a view would keep the whole batch
            state.rest(score)
        return told
