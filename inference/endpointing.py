"""Where speech begins, pauses and ends: (window, probability) in, sounds out.

Runs on the audio clock alone. Does not know which detector gives the probabilities, what a turn is, or what
was said.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, WINDOW_S, AudioChunk, Hole
from inference.config import Endpointing
from inference.ports import VoiceStream

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
    """Closed by `stop_s` of silence, the length limit (a cut), missing audio, or the end of the answer."""

    utterance: Utterance
    reason: EndReason


@dataclass(frozen=True, slots=True)
class Heard:
    """Closes every window: the audio clock. Silence so far is `at_s - speech_end_s`.

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


class _Window(NamedTuple):
    chunk: AudioChunk
    voiced: bool


class Endpointer:
    """One answer's state. `feed` windows and `miss` holes in order, then `finish`; each returns sounds."""

    def __init__(self, config: Endpointing, guess_every_s: float = 0.8, before: Before | None = None) -> None:
        before = before or Before()
        self._config = config
        self._guess_every_s = guess_every_s
        self._onset_windows = max(1, round(config.onset_s / WINDOW_S))
        self._eager_windows = max(1, round(config.eager_s / WINDOW_S))
        self._stop_windows = max(self._eager_windows, round(config.stop_s / WINDOW_S))
        # The ring holds the windows that make an onset sure, and the preroll before them.
        self._ring: deque[_Window] = deque(maxlen=self._onset_windows + round(config.preroll_s / WINDOW_S))
        self._open: list[_Window] = []
        self._paused: Utterance | None = None
        self._number = before.number
        self._voiced = False  # hysteresis
        self._run = 0  # voiced windows in a row
        self._silent = 0  # windows since the last sure voice
        self._guessed_s = 0.0
        self._next_start: int | None = None
        self._speech_end_s = before.speech_end_s

    def feed(self, window: AudioChunk, probability: float) -> list[Sound]:
        sounds = self._gap(window)
        self._next_start = window.start + window.samples
        floor = self._config.silence_threshold if self._voiced else self._config.speech_threshold
        self._voiced = probability >= floor
        self._run = self._run + 1 if self._voiced else 0
        heard = _Window(window, self._voiced)
        sounds += self._speak(heard) if self._open else self._listen(heard)
        sounds.append(Heard(window.end_s, self._speech_end_s, bool(self._open) and self._paused is None))
        return sounds

    def miss(self, at_s: float, hole: Hole) -> list[Sound]:
        """Words before and after the hole are never one utterance."""
        ended = [UtteranceEnded(_until(one.utterance, at_s), one.reason) for one in self._break_off()]
        return [Missed(at_s, hole), *ended]

    def finish(self) -> list[Sound]:
        """The answer is over: what is open ends here, and what was decoded at its pause stays as it was."""
        return [*self._close("finish")] if self._open else []

    def _gap(self, window: AudioChunk) -> list[Sound]:
        """Audio is missing before this window: never join across it."""
        if self._next_start is None or window.start == self._next_start:
            return []
        return [*self._break_off()]

    def _break_off(self) -> list[UtteranceEnded]:
        ended = self._close("gap") if self._open else []
        self._ring.clear()
        self._voiced, self._run = False, 0
        return ended

    def _listen(self, heard: _Window) -> list[Sound]:
        self._ring.append(heard)
        if self._run < self._onset_windows:
            return []
        self._open = list(self._ring)
        self._ring.clear()
        self._begin(self._open[0].chunk.start_s)
        self._speech_end_s = heard.chunk.end_s
        return [Onset(self._number, self._open[0].chunk.start_s)]

    def _begin(self, start_s: float) -> None:
        self._number += 1
        self._silent, self._paused, self._guessed_s = 0, None, start_s

    def _speak(self, heard: _Window) -> list[Sound]:
        self._open.append(heard)
        if self._paused is not None:
            return self._pausing(heard)
        if heard.voiced:
            self._silent, self._speech_end_s = 0, heard.chunk.end_s
            return self._grow(heard.chunk.end_s)
        self._silent += 1
        if self._silent < self._eager_windows:
            return []
        self._paused = self._utterance(len(self._open))
        return [Pause(self._paused)]

    def _pausing(self, heard: _Window) -> list[Sound]:
        """A click does not take an announced pause back: going on must be as sure as an onset."""
        self._silent += 1
        if self._run >= self._onset_windows:
            self._paused, self._silent, self._speech_end_s = None, 0, heard.chunk.end_s
            return [Resumed(self._number, heard.chunk.end_s - self._run * WINDOW_S)]
        # A run that may still become speech is awaited: its first syllable must not fall into the gap.
        return [*self._close("pause")] if self._silent >= self._stop_windows and not self._run else []

    def _grow(self, end_s: float) -> list[Sound]:
        if end_s - self._open[0].chunk.start_s >= self._config.max_utterance_s:
            return self._cut()
        if end_s - self._guessed_s < self._guess_every_s:
            return []
        self._guessed_s = end_s
        return [Guess(self._utterance(len(self._open)))]

    def _cut(self) -> list[Sound]:
        """Split an utterance that grew too long at its quietest recent place."""
        at = _quietest(self._open, round(CUT_SEARCH_S / WINDOW_S))
        ended, rest = self._utterance(at), self._open[at:]
        self._open = rest
        self._begin(rest[0].chunk.start_s)
        return [UtteranceEnded(ended, "cut")]

    def _close(self, reason: EndReason) -> list[UtteranceEnded]:
        ended = self._paused or self._utterance(len(self._open))
        # What came after is silence, or sound too short to be sure of: it may be the next one's preroll.
        unused = self._open[round((ended.end_s - self._open[0].chunk.start_s) / WINDOW_S) :]
        self._open, self._paused, self._silent = [], None, 0
        self._ring.extend(unused)
        return [UtteranceEnded(ended, reason)]

    def _utterance(self, windows: int) -> Utterance:
        taken = self._open[:windows]
        voiced = [w.chunk.end_s for w in taken if w.voiced]
        return Utterance(
            number=self._number,
            start_s=taken[0].chunk.start_s,
            end_s=taken[-1].chunk.end_s,
            speech_end_s=voiced[-1] if voiced else taken[-1].chunk.end_s,
            voiced_s=len(voiced) * WINDOW_S,
            pcm=b"".join(w.chunk.pcm for w in taken),
        )


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


def _quietest(windows: list[_Window], search: int) -> int:
    """Index after the middle of the quietest ~0.1 s among the last `search` windows."""
    half = CUT_SMOOTH_WINDOWS // 2
    first = max(half, len(windows) - search)
    energies = [_energy(w.chunk.pcm) for w in windows[first - half :]]
    sums = [sum(energies[i : i + CUT_SMOOTH_WINDOWS]) for i in range(len(energies) - 2 * half)]
    return first + sums.index(min(sums)) + 1


def _energy(pcm: bytes) -> int:
    """Sum of squares of the samples. Only used at a cut, some 190 windows: a few milliseconds."""
    return sum(sample * sample for sample in array("h", pcm))


async def endpoint(
    windows: AsyncIterator[AudioChunk],
    voice: VoiceStream,
    config: Endpointing,
    guess_every_s: float = 0.8,
    before: Before | None = None,
) -> AsyncIterator[Sound]:
    """The sounds of one answer; a Heard closes every window. Raises EngineUnavailable."""
    ears = Endpointer(config, guess_every_s, before)
    async for window in windows:
        if window.hole is not None:
            sounds = ears.miss(window.start_s, window.hole)
        else:
            sounds = ears.feed(window, await voice.probability(window))
        for sound in sounds:
            yield sound
    for sound in ears.finish():
        yield sound
