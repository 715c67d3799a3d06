"""Audio as the server hears it: 16 kHz, mono, signed 16-bit little-endian PCM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SAMPLE_RATE = 16_000
BYTES_PER_SAMPLE = 2
WINDOW_SAMPLES = 512  # Silero VAD accepts exactly 512 samples (32 ms) at 16 kHz.
WINDOW_BYTES = WINDOW_SAMPLES * BYTES_PER_SAMPLE
WINDOW_S = WINDOW_SAMPLES / SAMPLE_RATE

MissingWhy = Literal["full", "lost", "unreadable"]


class AudioUnreadable(Exception):  # noqa: N818 - named for what is wrong, like the ports' errors
    """A file that holds no audio we can read, in one line that names it and says why."""


@dataclass(frozen=True, slots=True)
class Hole:
    """Audio that was lost on its way and will not come. It has no samples, so it moves no clock."""

    seconds: float
    why: MissingWhy


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """A run of PCM16LE samples. `start` is its first sample's index in the answer.

    One with a `hole` has no samples: it marks the place where audio is missing.
    """

    start: int
    pcm: bytes
    hole: Hole | None = None

    @property
    def samples(self) -> int:
        return len(self.pcm) // BYTES_PER_SAMPLE

    @property
    def start_s(self) -> float:
        return self.start / SAMPLE_RATE

    @property
    def end_s(self) -> float:
        return (self.start + self.samples) / SAMPLE_RATE


def duration_s(pcm: bytes) -> float:
    """Length of PCM16LE audio at 16 kHz, in seconds."""
    return len(pcm) / BYTES_PER_SAMPLE / SAMPLE_RATE


class Cutter:
    """Re-cuts chunks of any length into runs of whole windows of WINDOW_SAMPLES.

    `join` takes what follows on; a jump in `start` (frames the recogniser could not keep up with) restarts
    the cut by `begin`, so window times stay true. `rest` pads what is left before a hole or the end with
    silence: no last syllable is dropped.
    """

    __slots__ = ("_held", "_start")

    def __init__(self) -> None:
        self._held = bytearray()
        self._start = 0

    @property
    def held_bytes(self) -> int:
        return len(self._held)

    def join(self, chunk: AudioChunk) -> bool:
        """Take the chunk if it follows on."""
        if chunk.hole is not None or chunk.start != self._start + len(self._held) // BYTES_PER_SAMPLE:
            return False
        self._held += chunk.pcm
        return True

    def begin(self, start: int) -> None:
        """Go on at another place; less than a window before it is given up."""
        self._held.clear()
        self._start = start

    def run(self, most_bytes: int) -> AudioChunk | None:
        """The next whole windows, None without any."""
        size = min(len(self._held), most_bytes) // WINDOW_BYTES * WINDOW_BYTES
        return self._taken(size) if size else None

    def rest(self) -> AudioChunk | None:
        """What is shorter than a window, filled up."""
        if not self._held:
            return None
        short = self._taken(len(self._held))
        return AudioChunk(short.start, short.pcm.ljust(WINDOW_BYTES, b"\0"))

    def _taken(self, size: int) -> AudioChunk:
        taken = AudioChunk(self._start, bytes(memoryview(self._held)[:size]))
        del self._held[:size]
        self._start += size // BYTES_PER_SAMPLE
        return taken
