"""Play scripted sound through a session on the audio clock, and read what came out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

from inference import events as ev
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.assessment import QuestionSpec
from inference.audio import SAMPLE_RATE, AudioChunk
from inference.brief import AnswerBrief, AnswerOutcome
from inference.ports import Assessor, Engines, Recognizer
from inference.session import AnswerSession

QUESTION = QuestionSpec("Tell me about a time you solved a hard technical problem.", "en", "behavioural")
STAR = (
    "In my last job our checkout service was timing out and I was responsible for fixing it. "
    "First I profiled the hot path, then I cached the catalogue. "
    "As a result latency fell by 40% in three months."
)
E = TypeVar("E", bound=ev.Event)
CHUNK = SAMPLE_RATE // 10
LOUD, QUIET = b"\x00\x10" * CHUNK, b"\0\0" * CHUNK


def speech(seconds: float) -> tuple[bytes, float]:
    return LOUD, seconds


def silence(seconds: float) -> tuple[bytes, float]:
    return QUIET, seconds


@dataclass
class Played:
    events: list[ev.Event] = field(default_factory=list)
    outcome: AnswerOutcome | None = None
    observed: list[tuple[str, float]] = field(default_factory=list)

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    def observe(self, name: str, value: float) -> None:
        self.observed.append((name, value))


def engines(recognizer: Recognizer | None = None, llm: Assessor | None = None) -> Engines:
    return Engines(voice=LoudnessDetector(), recognizer=recognizer or ScriptedRecognizer(STAR), llm=llm)


def brief(**changes: object) -> AnswerBrief:
    return AnswerBrief(**{"turn": 1, "question": QUESTION, "spoken": "en", **changes})  # type: ignore[arg-type]


_next_start: WeakKeyDictionary[AnswerSession, int] = WeakKeyDictionary()


def _chunks(session: AnswerSession, sounds: Sequence[tuple[bytes, float]]) -> Iterator[AudioChunk]:
    """Tenths of a second, going on where the last ones of this session ended."""
    for pcm, seconds in sounds:
        for _ in range(round(seconds * 10)):
            start = _next_start.get(session, 0)
            _next_start[session] = start + CHUNK
            yield AudioChunk(start, pcm)


async def play(session: AnswerSession, *sounds: tuple[bytes, float]) -> None:
    """Push the sounds, giving the session's tasks their turn after each tenth of a second of audio."""
    for chunk in _chunks(session, sounds):
        session.push(chunk)
        await asyncio.sleep(0.002)


async def hear(session: AnswerSession, played: Played, within_s: float = 60.0) -> None:
    """Run the session to its end and collect its events."""
    async with asyncio.timeout(within_s):
        running = asyncio.create_task(session.run())
        async for event in session.events:
            played.events.append(event)
        played.outcome = await running


async def answer(*sounds: tuple[bytes, float], on: Engines | None = None, **changes: object) -> Played:
    """Play a whole answer; Done is pressed at its end unless the turn is over by then."""
    played = Played()
    session = AnswerSession(on or engines(), brief(**changes), observe=played.observe)
    hearing = asyncio.create_task(hear(session, played))
    await play(session, *sounds)
    session.done()
    await hearing
    return played
