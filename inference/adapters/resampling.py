"""Sound of another rate as 16 kHz, piece by piece and without a seam between the pieces.

The same polyphase windowed-sinc low-pass as the page's (static/js/resampler.js). Knows no frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE

if TYPE_CHECKING:
    import numpy.typing as npt

HALF_WIDTH = 16  # zero crossings of the sinc on each side, at the lower of the two rates
KAISER_BETA = 8.0  # about 80 dB of stop band
AT_ONCE = 400  # outputs: what they are made of stays in the processor's cache, and a frame costs a third
PASS = 0.92  # the transition ends at the lower Nyquist frequency


@dataclass(frozen=True, slots=True)
class _Bank:
    """One row of taps for each place that an output can have between two inputs."""

    up: int
    down: int
    reach: int
    taps: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Resampler:
    """Where one stream is: `seen` samples came, of which `tail` are the last. Never changed, only followed.

    Each piece keeps its length: what comes out is later than what went in by 16 crossings, 1 to 2 ms.
    """

    rate: int
    seen: int = 0
    tail: bytes = b""

    def after(self, pcm: bytes, *, last: bool = False) -> tuple[bytes, Resampler]:
        """`pcm` at 16 kHz, and the resampler that goes on behind it. Of the `last` piece all comes out."""
        bank = _bank(self.rate)
        if last:
            pcm += pcm[-BYTES_PER_SAMPLE:] * bank.reach
        # Before the first sample there was none: it is held, so that nothing clicks.
        past = self.tail or pcm[:BYTES_PER_SAMPLE] * (2 * bank.reach)
        heard = past + pcm
        out = _filtered(np.frombuffer(heard, "<i2").astype(np.float32), bank, self.seen, len(pcm))
        if last:
            return out, Resampler(self.rate)
        seen = self.seen + len(pcm) // BYTES_PER_SAMPLE
        return out, Resampler(self.rate, seen, heard[-2 * bank.reach * BYTES_PER_SAMPLE :])


def _filtered(heard: npt.NDArray[np.float32], bank: _Bank, seen: int, nbytes: int) -> bytes:
    """The outputs that are due with the last `nbytes` of `heard`, before which `seen` samples came."""
    to = seen + nbytes // BYTES_PER_SAMPLE
    due = np.arange(-(-seen * bank.up // bank.down), -(-to * bank.up // bank.down)) * bank.down
    width = 2 * bank.reach
    windows = np.lib.stride_tricks.sliding_window_view(heard, width)
    oldest = due // bank.up - to + len(heard) - width + 1
    out = np.empty(len(due), np.float32)
    for begin in range(0, len(due), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        np.einsum("kt,kt->k", windows[oldest[part]], bank.taps[due[part] % bank.up], out=out[part])
    pcm: bytes = np.clip(np.rint(out), -32_768, 32_767).astype("<i2").tobytes()
    return pcm


@lru_cache(maxsize=8)
def _bank(rate: int) -> _Bank:
    divisor = gcd(rate, SAMPLE_RATE)
    up, down = SAMPLE_RATE // divisor, rate // divisor
    scale = min(1.0, SAMPLE_RATE / rate)
    reach = int(np.ceil(HALF_WIDTH / scale))
    distance = np.arange(2 * reach)[None, :] - reach + 1 - np.arange(up)[:, None] / up
    edge = np.sqrt(np.maximum(0.0, 1 - (distance / reach) ** 2))
    taps = np.sinc(distance * scale * PASS) * np.i0(KAISER_BETA * edge)
    return _Bank(up, down, reach, (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32))
