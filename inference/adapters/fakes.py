"""Engines whose answers and timing a test scripts, behind the real ports. No models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import numpy as np

from inference.assessment import Answer, Word
from inference.audio import duration_s
from inference.hearing import Ears, Hearing
from inference.ports import AssessmentPiece, EngineError, Priority, Speech, Transcript

LOUD = 1_000


class Loudness:
    """A VoiceModel: a window with a sample of 1,000 or more is speech."""

    def fresh(self) -> object:
        return None

    def score(self, states: Sequence[object], windows: Sequence[bytes]) -> Sequence[float]:
        samples = np.frombuffer(b"".join(windows), "<i2").reshape(len(windows), -1)
        return [float(loud) for loud in (samples.max(1) >= LOUD) | (samples.min(1) <= -LOUD)]


class InlineEars(Ears):
    """Hears what is pushed at once, without a thread: sounds come in the loop's next round."""

    def wake(self, hearing: Hearing) -> None:
        with self.lock:
            self._ready[hearing] = None
        while self._turn():
            pass


class LoudnessDetector(InlineEars):
    def __init__(self) -> None:
        super().__init__(Loudness())

    async def aclose(self) -> None:
        """The same one may be given to the next engines of a test."""


class ScriptedRecognizer:
    """Gives the next line for each final, after `delay_s`; an exception in the script is raised.

    The last line is repeated. Guesses hear the beginning of the line that is due. `asked` keeps what came.
    """

    def __init__(self, *script: str | EngineError, delay_s: float = 0.0) -> None:
        self._script = list(script)
        self.delay_s = delay_s
        self.asked: list[tuple[Priority, float]] = []

    async def start(self) -> None:
        pass

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        self.asked.append((priority, duration_s(speech.pcm)))
        line = (
            self._script[0] if len(self._script) == 1 or priority is Priority.PARTIAL else self._script.pop(0)
        )
        await asyncio.sleep(0 if priority is Priority.PARTIAL else self.delay_s)
        if isinstance(line, EngineError):
            raise line
        if priority is Priority.PARTIAL:
            line = " ".join(line.split()[:3])
        return Transcript(line, speech.language or "en", _words(line, duration_s(speech.pcm)), 0.9)

    async def aclose(self) -> None:
        pass


def _words(line: str, length_s: float) -> tuple[Word, ...]:
    """The line's words, evenly spread over the audio."""
    words = line.split()
    step_s = length_s / max(1, len(words))
    return tuple(Word(word, i * step_s, (i + 1) * step_s, 0.9) for i, word in enumerate(words))


class ScriptedAssessor:
    """Yields the pieces that `script` makes of an answer; a number waits so long, an exception is raised."""

    def __init__(self, script: Callable[[Answer], Sequence[AssessmentPiece | float | EngineError]]) -> None:
        self._script = script
        self.open = 0

    async def assess(self, answer: Answer) -> AsyncIterator[AssessmentPiece]:
        self.open += 1
        try:
            for step in self._script(answer):
                if isinstance(step, EngineError):
                    raise step
                if isinstance(step, float):
                    await asyncio.sleep(step)
                else:
                    yield step
        finally:
            self.open -= 1

    async def aclose(self) -> None:
        pass
