"""Audio as the server hears it: 16 kHz, mono, signed 16-bit little-endian PCM."""

from __future__ import annotations

from collections.abc import AsyncIterator
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


async def windows(chunks: AsyncIterator[AudioChunk]) -> AsyncIterator[AudioChunk]:
    """Re-cut chunks of any length into windows of exactly WINDOW_SAMPLES.

    A jump in `start` (frames the recogniser could not keep up with) restarts the cut there, so window
    times stay true; so does a hole, which passes in its place. What is left shorter than one window before
    a hole or the end is padded with silence: no last syllable is dropped.
    """
    held, start = b"", 0
    async for chunk in chunks:
        if chunk.hole is not None:
            if held:
                yield _padded(start, held)
            held, start = b"", chunk.start
            yield chunk
            continue
        if chunk.start != start + len(held) // BYTES_PER_SAMPLE:
            held, start = b"", chunk.start
        held += chunk.pcm
        while len(held) >= WINDOW_BYTES:
            yield AudioChunk(start, held[:WINDOW_BYTES])
            held, start = held[WINDOW_BYTES:], start + WINDOW_SAMPLES
    if held:
        yield _padded(start, held)


def _padded(start: int, pcm: bytes) -> AudioChunk:
    return AudioChunk(start, pcm.ljust(WINDOW_BYTES, b"\0"))
