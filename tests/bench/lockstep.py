"""Answers through our session on the audio clock: what it decides does not hang on how fast this machine is.

Audio waits for a decode that should be done by then; one that is done early is held back. So a decode always
takes `ASR_S`, as on a machine that keeps up, and a run that is repeated comes out the same.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from inference import events as ev
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, WINDOW_SAMPLES, AudioChunk
from inference.brief import AnswerBrief
from inference.config import SessionConfig
from inference.endpointing import Endpointer, Sound
from inference.ports import (
    Engines,
    EngineUnavailable,
    Listener,
    OpenEar,
    Priority,
    Recognizer,
    Speech,
    Transcript,
)
from inference.rehearsal import CHUNK_S, chunks
from inference.session import AnswerSession
from tests.bench.recordings import Recording

ASR_S = 0.35  # of audio, from a decode's request to its answer: what one speaker sees on two cores
TAIL_S = 8.0  # of silence after the last word: longer than any hard commit
STUCK_S = 120.0  # for a tenth of a second of audio
AT_ONCE = 8
# Wall time means nothing here, and guesses decide nothing: they would only cost.
UNHURRIED = SessionConfig(late_s=600.0, settle_s=600.0, partial_every_s=3600.0)
Hear = Callable[[Sequence[Sound]], None]
Lost = Callable[[EngineUnavailable], None]
E = TypeVar("E", bound=ev.Event)


@dataclass
class Replayed:
    """What the page would have been told, with the audio time at which it would have come."""

    recording: Recording
    events: list[tuple[float, ev.Event]] = field(default_factory=list)

    def of(self, kind: type[E]) -> list[tuple[float, E]]:
        return [(at_s, event) for at_s, event in self.events if isinstance(event, kind)]


@dataclass(eq=False)
class _Clock:
    """How much audio a session was given, and the decodes it waits for."""

    pushed_s: float = 0.0
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    due: dict[asyncio.Event, float] = field(default_factory=dict)

    def move(self, to_s: float) -> None:
        self.pushed_s = to_s
        self.moved.set()
        self.moved = asyncio.Event()

    async def until(self, at_s: float) -> None:
        while self.pushed_s < at_s:
            await self.moved.wait()


class _Witness:
    """The process's ears, which also tell how far one session's audio has been heard."""

    def __init__(self, inner: Listener) -> None:
        self._inner = inner
        self.heard_to = 0  # samples

    def listen(self, endpointer: Endpointer, hear: Hear, lost: Lost) -> OpenEar:
        watched = _Watched(endpointer)

        def heard(sounds: Sequence[Sound]) -> None:
            hear(sounds)
            self.heard_to = watched.fed_to

        return self._inner.listen(cast("Endpointer", watched), heard, lost)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Watched:
    """An endpointer; `fed_to` is the sample behind its last window."""

    def __init__(self, inner: Endpointer) -> None:
        self._inner = inner
        self.fed_to = 0

    def feed(self, run: AudioChunk, probabilities: Sequence[float]) -> list[Sound]:
        sounds = self._inner.feed(run, probabilities)
        self.fed_to = run.start + len(probabilities) * WINDOW_SAMPLES
        return sounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Paced:
    """The process's recogniser, whose every answer takes `ASR_S` on one session's audio clock."""

    def __init__(self, inner: Recognizer, clock: _Clock) -> None:
        self._inner, self._clock = inner, clock

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        done, due_s = asyncio.Event(), self._clock.pushed_s + ASR_S
        self._clock.due[done] = due_s
        try:
            # Whoever waits for audio that waits for him must not wait for ever: nobody comes last.
            transcript = await self._inner.transcribe(speech, min(priority, Priority.EAGER))
            done.set()
            await self._clock.until(due_s)
            return transcript
        finally:
            done.set()
            self._clock.due.pop(done, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@dataclass(frozen=True, slots=True)
class _Stage:
    """What plays one recording needs of its session."""

    session: AnswerSession
    ears: _Witness
    clock: _Clock
    taking: asyncio.Task[None]


async def replay_all(engines: Engines, recordings: Sequence[Recording], tell: Any = None) -> list[Replayed]:
    """Each recording through a session of its own, some at once."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(recording: Recording) -> Replayed:
        async with places:
            replayed = await replay(engines, recording)
        if tell is not None:
            tell(replayed)
        return replayed

    return list(await asyncio.gather(*map(one, recordings)))


async def replay(engines: Engines, recording: Recording) -> Replayed:
    """One answer, until its turn ends or its silence is over."""
    clock, replayed = _Clock(), Replayed(recording)
    assert engines.recognizer is not None
    assert engines.voice is not None
    ears = _Witness(engines.voice)
    paced = replace(engines, voice=ears, recognizer=cast("Recognizer", _Paced(engines.recognizer, clock)))
    brief = AnswerBrief(1, recording.spec, spoken=recording.language, limit_s=600.0)
    session = AnswerSession(paced, brief, UNHURRIED)
    running = asyncio.create_task(session.run())
    taking = asyncio.create_task(_take(session, replayed, clock))
    try:
        await _play(_Stage(session, ears, clock, taking), recording)
    finally:
        clock.move(math.inf)
        running.cancel()
        taking.cancel()
        await asyncio.gather(running, taking, return_exceptions=True)
    return replayed


async def _take(session: AnswerSession, replayed: Replayed, clock: _Clock) -> None:
    async for event in session.events:
        replayed.events.append((clock.pushed_s, event))
        if isinstance(event, ev.TurnEnded):
            return


async def _play(stage: _Stage, recording: Recording) -> None:
    start = 0
    for frame in chunks(recording.then_silence(TAIL_S)):
        if stage.taking.done():
            return
        stage.session.push(AudioChunk(start, frame))
        start += len(frame) // BYTES_PER_SAMPLE
        stage.clock.move(start / SAMPLE_RATE)
        async with asyncio.timeout(STUCK_S):
            await _heard(stage, start - start % WINDOW_SAMPLES)
            await _decoded(stage.clock)


async def _heard(stage: _Stage, to: int) -> None:
    """Every window of what was pushed has been heard, and what came of it was taken."""
    while stage.ears.heard_to < to and not stage.taking.done():
        await asyncio.sleep(0.001)
    await _settled()


async def _decoded(clock: _Clock) -> None:
    """What is due before the next frame is there, and has reached the session."""
    for done in [done for done, due_s in clock.due.items() if due_s < clock.pushed_s + CHUNK_S]:
        await done.wait()
    await _settled()


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
