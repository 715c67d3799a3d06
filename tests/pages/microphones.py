"""Recordings for a browser's fake microphone, bad ones among them."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests.pages.browser import SPEECH

Samples = npt.NDArray[np.float64]


def write(path: Path, samples: Samples, rate: int) -> Path:
    """`samples` of -1 to 1, one column a channel."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.rint(samples.clip(-1, 1) * 32_767).astype("<i2").tobytes())
    return path


def speech_at(rate: int) -> Samples:
    """The recorded answer, as a device of this rate would have taken it."""
    with wave.open(str(SPEECH)) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32_768
        at = np.arange(round(len(pcm) * rate / file.getframerate())) * file.getframerate() / rate
    heard: Samples = np.interp(at, np.arange(len(pcm)), pcm)
    return heard
