"""Where speech begins, pauses and ends: runs of windows and their probabilities in, sounds out.

Runs on the audio clock alone. Does not know which detector gives the probabilities, what a turn is, or what
was said.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from inference.audio import (
    BYTES_PER_SAMPLE,
    SAMPLE_RATE,
    WINDOW_BYTES,
    WINDOW_S,
    WINDOW_SAMPLES,
    AudioChunk,
    Hole,
)
from inference.config import Endpointing

CUT_SEARCH_S = 6.0  # a forced cut looks for a quiet place this far back
CUT_SMOOTH_WINDOWS = 3  # ~0.1 s: longer than the closure of a "p" or "t", shorter than a breath

EndReason = Literal["pause", "cut", "gap", "finish"]


@dataclass(frozen=True, slots=True)
class Utterance:
    """Speech between silences. `number` counts from 1 within the answer; times on the answer's audio clock.

    `pcm` covers start_s..end_s; `speech_end_s` is where the voice ended and `voiced_s` how long it was heard.
    """

    number: int
    start_s: float
    end_s: float
    speech_end_s: float
    voiced_s: float
    pcm: bytes


@dataclass(frozen=True, slots=True)
class Onset:
    """Speech is sure. `at_s` is where its preroll begins."""

    number: int
    at_s: float


@dataclass(frozen=True, slots=True)
class Guess:
    """The open utterance has grown by another `guess_every_s`."""

    utterance: Utterance


@dataclass(frozen=True, slots=True)
class Pause:
    """`eager_s` of silence: worth decoding now. UtteranceEnded carries this value if no more is said."""

    utterance: Utterance


@dataclass(frozen=True, slots=True)
class Resumed:
    """The speaker went on within the utterance that had paused."""

    number: int
    at_s: float


@dataclass(frozen=True, slots=True)
class UtteranceEnded:
    """Closed by `stop_s` of silence, a cut (too long, or asked for), missing audio, or the answer's end."""

    utterance: Utterance
    reason: EndReason


@dataclass(frozen=True, slots=True)
class Heard:
    """The audio clock: after each run and each other sound. Silence so far is `at_s - speech_end_s`.

    `speech_end_s` is the end of the last voice that was sure, None before the first; noise never moves it.
    """

    at_s: float
    speech_end_s: float | None
    speaking: bool

    @property
    def silence_s(self) -> float:
        return self.at_s - (self.speech_end_s or 0.0)


@dataclass(frozen=True, slots=True)
class Missed:
    """Audio is missing here. What was open before it ends here too."""

    at_s: float
    hole: Hole


Sound = Onset | Guess | Pause | Resumed | UtteranceEnded | Heard | Missed


@dataclass(frozen=True, slots=True)
class Before:
    """What was heard before the first window: the last utterance's number and where its voice ended."""

    number: int = 0
    speech_end_s: float | None = None


class Endpointer:
    """One answer's state: `feed` runs of windows and `miss` holes in order, then `finish`; all return sounds.

    What is held is one stretch of audio and a flag a window: an utterance in progress, or the windows that
    may yet be an onset and its preroll.
    """

    def __init__(self, config: Endpointing, guess_every_s: float = 0.8, before: Before | None = None) -> None:
        before = before or Before()
        self._config = config
        self._guess_every_s = guess_every_s
        self._onset_windows = max(1, round(config.onset_s / WINDOW_S))
        self._eager_windows = max(1, round(config.eager_s / WINDOW_S))
        self._stop_windows = max(self._eager_windows, round(config.stop_s / WINDOW_S))
        self._ring_windows = self._onset_windows + round(config.preroll_s / WINDOW_S)
        self._pcm = bytearray()  # from _start on; may reach beyond the windows that were looked at
        self._flags = bytearray()  # 1 for each voiced window that was looked at
        self._start = 0
        self._open = False
        self._paused: Utterance | None = None
        self._number = before.number
        self._voiced = False  # hysteresis
        self._run = 0  # voiced windows in a row
        self._silent = 0  # windows since the last sure voice
        self._guessed_s = 0.0
        self._next_start: int | None = None
        self._speech_end_s = before.speech_end_s

    def feed(self, run: AudioChunk, probabilities: Sequence[float]) -> list[Sound]:
        """Windows that follow each other, with the probability of speech in each."""
        sounds: list[Sound] = [*self._gap(run.start)]
        heard: list[Sound] = []
        self._next_start = run.start + len(probabilities) * WINDOW_SAMPLES
        if not self._flags:
            self._start = run.start
        self._pcm += run.pcm
        silence, speech = self._config.silence_threshold, self._config.speech_threshold
        for probability in probabilities:
            self._voiced = probability >= (silence if self._voiced else speech)
            self._run = self._run + 1 if self._voiced else 0
            self._flags.append(self._voiced)
            heard = self._speak() if self._open else self._listen()
            if heard:
                sounds += heard
                sounds.append(self._clock(self._end_s))
        if not heard:
            sounds.append(self._clock(self._end_s))
        if not self._open:
            self._forget(len(self._flags) - self._ring_windows)
        return sounds

    def miss(self, at_s: float, hole: Hole) -> list[Sound]:
        """Words before and after the hole are never one utterance."""
        ended = [UtteranceEnded(_until(one.utterance, at_s), one.reason) for one in self._break_off()]
        return [Missed(at_s, hole), *ended]

    def cut(self, at_s: float) -> list[Sound]:
        """Split the open utterance at the window nearest to `at_s`; only where voice is on both sides."""
        at = round((at_s * SAMPLE_RATE - self._start) / WINDOW_SAMPLES)
        voiced = self._flags
        if not self._open or self._paused is not None or not 0 < at < len(voiced):
            return []
        if 1 not in voiced[:at] or 1 not in voiced[at:]:
            return []
        return [self._split(at), self._clock(self._end_s)]

    def finish(self) -> list[Sound]:
        """The answer is over: what is open ends here, and what was decoded at its pause stays as it was."""
        return [*self._close("finish")] if self._open else []

    @property
    def _end_s(self) -> float:
        """Where the windows end that were looked at."""
        return (self._start + len(self._flags) * WINDOW_SAMPLES) / SAMPLE_RATE

    @property
    def _start_s(self) -> float:
        return self._start / SAMPLE_RATE

    def _clock(self, at_s: float) -> Heard:
        return Heard(at_s, self._speech_end_s, self._open and self._paused is None)

    def _gap(self, start: int) -> list[UtteranceEnded]:
        """Audio is missing before this run: never join across it."""
        if self._next_start is None or start == self._next_start:
            return []
        return self._break_off()

    def _break_off(self) -> list[UtteranceEnded]:
        ended = self._close("gap") if self._open else []
        self._pcm.clear()
        self._flags.clear()
        self._voiced, self._run = False, 0
        return ended

    def _forget(self, windows: int) -> None:
        """Let the first ones of what is held go."""
        if windows > 0:
            del self._pcm[: windows * WINDOW_BYTES], self._flags[:windows]
            self._start += windows * WINDOW_SAMPLES

    def _listen(self) -> list[Sound]:
        if self._run < self._onset_windows:
            return []
        self._forget(len(self._flags) - self._ring_windows)
        self._open = True
        self._begin()
        self._silent, self._speech_end_s = 0, self._end_s
        return [Onset(self._number, self._start_s)]

    def _begin(self) -> None:
        self._number += 1
        self._paused, self._guessed_s = None, self._start_s

    def _speak(self) -> list[Sound]:
        if self._paused is not None:
            return self._pausing()
        if self._voiced:
            self._silent, self._speech_end_s = 0, self._end_s
            return self._grow()
        self._silent += 1
        if self._silent < self._eager_windows:
            return []
        self._paused = self._utterance(len(self._flags))
        return [Pause(self._paused)]

    def _pausing(self) -> list[Sound]:
        """A click does not take an announced pause back: going on must be as sure as an onset."""
        self._silent += 1
        if self._run >= self._onset_windows:
            self._paused, self._silent, self._speech_end_s = None, 0, self._end_s
            return [Resumed(self._number, self._end_s - self._run * WINDOW_S)]
        # A run that may still become speech is awaited: its first syllable must not fall into the gap.
        return [*self._close("pause")] if self._silent >= self._stop_windows and not self._run else []

    def _grow(self) -> list[Sound]:
        end_s = self._end_s
        if end_s - self._start_s >= self._config.max_utterance_s:
            return [self._split(self._quietest(round(CUT_SEARCH_S / WINDOW_S)))]
        if end_s - self._guessed_s < self._guess_every_s:
            return []
        self._guessed_s = end_s
        return [Guess(self._utterance(len(self._flags)))]

    def _split(self, at: int) -> UtteranceEnded:
        """End the open utterance before its window `at`; the rest is the next one."""
        ended = self._utterance(at)
        self._forget(at)
        self._begin()
        return UtteranceEnded(ended, "cut")

    def _close(self, reason: EndReason) -> list[UtteranceEnded]:
        ended = self._paused or self._utterance(len(self._flags))
        # What came after is silence, or sound too short to be sure of: it may be the next one's preroll.
        self._forget(round((ended.end_s - self._start_s) / WINDOW_S))
        self._open, self._paused, self._silent = False, None, 0
        return [UtteranceEnded(ended, reason)]

    def _utterance(self, windows: int) -> Utterance:
        voiced = self._flags.count(1, 0, windows)
        last = self._flags.rfind(1, 0, windows) if voiced else windows - 1
        return Utterance(
            number=self._number,
            start_s=self._start_s,
            end_s=(self._start + windows * WINDOW_SAMPLES) / SAMPLE_RATE,
            speech_end_s=(self._start + (last + 1) * WINDOW_SAMPLES) / SAMPLE_RATE,
            voiced_s=voiced * WINDOW_S,
            pcm=bytes(memoryview(self._pcm)[: windows * WINDOW_BYTES]),
        )

    def _quietest(self, search: int) -> int:
        """Index after the middle of the quietest ~0.1 s among the last `search` windows."""
        half = CUT_SMOOTH_WINDOWS // 2
        first = max(half, len(self._flags) - search)
        held = memoryview(self._pcm)
        energies = [
            _energy(held[at * WINDOW_BYTES : (at + 1) * WINDOW_BYTES])
            for at in range(first - half, len(self._flags))
        ]
        sums = [sum(energies[i : i + CUT_SMOOTH_WINDOWS]) for i in range(len(energies) - 2 * half)]
        return first + sums.index(min(sums)) + 1


def _until(utterance: Utterance, at_s: float) -> Utterance:
    """Without the silence that filled its last window up: what comes after the hole begins at `at_s`."""
    if utterance.end_s <= at_s:
        return utterance
    samples = round((at_s - utterance.start_s) * SAMPLE_RATE)
    return replace(
        utterance,
        end_s=at_s,
        speech_end_s=min(utterance.speech_end_s, at_s),
        pcm=utterance.pcm[: samples * BYTES_PER_SAMPLE],
    )


def _energy(pcm: memoryview) -> int:
    """Sum of squares of every fourth sample. Only used at a forced cut, some 190 windows: 2 ms."""
    return sum(sample * sample for sample in array("h", bytes(pcm))[::4])
