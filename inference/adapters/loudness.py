"""How loud speech is: silence, and how much of it is voice where no voice detector listened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inference.audio import SAMPLE_RATE

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

SILENCE_RMS = 1e-4


def samples_of(pcm: bytes) -> Floats:
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768.0


def silent(samples: Floats) -> bool:
    return not samples.size or float(np.sqrt(np.mean(samples**2))) < SILENCE_RMS


def voiced_s(samples: Floats, frame_s: float = 0.03, below_peak: float = 0.1) -> float:
    """Seconds louder than a tenth of the loud parts: a cheap stand-in for a voice detector."""
    frame = round(frame_s * SAMPLE_RATE)
    frames = samples[: samples.size // frame * frame].reshape(-1, frame)
    if not frames.size:
        return 0.0
    loudness = np.sqrt(np.mean(frames**2, axis=1))
    floor = max(float(np.percentile(loudness, 95)) * below_peak, SILENCE_RMS * 10)
    return float(np.count_nonzero(loudness > floor)) * frame_s
