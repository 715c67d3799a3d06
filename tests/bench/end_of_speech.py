"""B1: sessions at real-time pace, and what each speaker waits for after the last word. Peers in the same run.

The end of speech is the recording's own, never what a detector took for it. A round of ours is followed by
the same round of each peer, so that a busy machine slows all alike.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from inference import events as ev
from inference.audio import BYTES_PER_SAMPLE, AudioChunk
from inference.brief import AnswerBrief
from inference.ports import Engines
from inference.rehearsal import CHUNK_S, chunks
from inference.session import AnswerSession
from inference.transcription import join_texts
from tests.bench import peers
from tests.bench.figures import Neighbours, Row, Table, say
from tests.bench.recordings import Recording, spoken
from tests.bench.shown import TAIL_S, Shown

CLIPS = (
    "two_sentences_fast",
    "off_topic",
    "injection",
    "noisy",
    "vague_fillers",
    "thinking_pause",
    "short_no",
)
SPREAD_S = 1.5  # speakers do not begin in the same instant
NEVER_S = TAIL_S
MIN_ROUNDS = 2  # of several at once: each time others speak together


@dataclass
class Marks:
    """What the page of one of our sessions was told; all times after the end of speech."""

    shown: Shown
    finals: dict[int, str] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)
    paused: list[float] = field(default_factory=list)
    ended_s: float | None = None

    def add(self, at_s: float, event: ev.Event) -> None:
        match event:
            case ev.TranscriptPartial() | ev.TranscriptFinal():
                self.finals[event.utterance] = event.text
                texts = [text for _, text in sorted(self.finals.items())]
                self.shown.texts.append((at_s, join_texts(texts)))
            case ev.FeedbackScore():
                self.scores.append(at_s)
            case ev.TurnPaused():
                self.paused.append(at_s)
            case ev.TurnEnded():
                self.ended_s = at_s

    @property
    def content_s(self) -> float | None:
        """The first score that covers the last words."""
        word_s = self.shown.last_word_s()
        if word_s is None:
            return None
        return next((at_s for at_s in self.scores if at_s >= max(0.0, word_s)), None)

    @property
    def soft_s(self) -> float | None:
        return next((at_s for at_s in [*self.paused, self.ended_s] if at_s is not None and at_s >= 0.0), None)

    @property
    def hard_s(self) -> float | None:
        return self.ended_s if self.ended_s is not None and self.ended_s >= 0.0 else None

    @property
    def cut_off(self) -> bool:
        return self.ended_s is not None and self.ended_s < 0.0


@dataclass
class Side:
    """Ours or a peer: how it plays one round, and the last words it was late with."""

    name: str
    play: Callable[[Sequence[peers.Take]], Awaitable[list[Shown]]]
    goals: dict[int, float] = field(default_factory=dict)  # ours : this one, at so many sessions
    last_word_s: dict[int, list[float]] = field(default_factory=dict)


async def end_of_speech(engines: Engines, sessions: Sequence[int], answers: int) -> list[Table]:
    """A table for each number of sessions, each of at least so many answers."""
    whisper_live = await peers.whisper_live(next(one for one in spoken() if one.id == CLIPS[0]))
    plain = await asyncio.to_thread(peers.Plain)
    others = [Side("plain faster-whisper", plain.play, {} if whisper_live else dict.fromkeys(sessions, 0.5))]
    if whisper_live is None:
        say("B1: no WhisperLive here (see docs/performance.md): plain faster-whisper is the only peer")
    else:
        others.append(Side("WhisperLive", whisper_live.play, {1: 0.5, 2: 0.5, 4: 0.3, 8: 0.3}))
    try:
        return [await _at(engines, number, answers, others) for number in sessions]
    finally:
        if whisper_live is not None:
            whisper_live.close()


async def _at(engines: Engines, number: int, answers: int, others: Sequence[Side]) -> Table:
    neighbours, marks = Neighbours(), list[Marks]()
    for turn in range(max(MIN_ROUNDS if number > 1 else 1, -(-answers // number))):
        takes = takes_of(number, turn)
        say(f"B1: {number} at once, round {turn + 1}: {', '.join(take.recording.id for take in takes)}")
        marks += await asyncio.gather(*(_ours(engines, take) for take in takes))
        for side in others:
            shown = await side.play(takes)
            side.last_word_s.setdefault(number, []).extend(_waited(one) for one in shown)
    return _table(number, marks, others, neighbours)


def takes_of(number: int, turn: int) -> list[peers.Take]:
    """So many speakers, each with the next clip, who begin within a second or two of each other."""
    clips = {one.id: one for one in spoken()}
    chance = random.Random(f"takes {number} {turn}")  # noqa: S311 - to be repeated
    chosen = [clips[CLIPS[(turn * number + i) % len(CLIPS)]] for i in range(number)]
    return [peers.Take(one, 0.0 if number == 1 else chance.uniform(0.0, SPREAD_S)) for one in chosen]


async def _ours(engines: Engines, take: peers.Take) -> Marks:
    one = take.recording
    session = AnswerSession(engines, AnswerBrief(1, one.spec, spoken=one.language, limit_s=600.0))
    marks = Marks(Shown(one))
    began = time.monotonic() + take.starts_s
    running = asyncio.create_task(session.run())
    playing = asyncio.create_task(_push(session, one, began))
    try:
        async for event in session.events:
            marks.add(time.monotonic() - began - one.speech_end_s, event)
            if isinstance(event, ev.TurnEnded):
                playing.cancel()
        await asyncio.wait([running], timeout=TAIL_S)
    finally:
        running.cancel()
        playing.cancel()
        await asyncio.gather(running, playing, return_exceptions=True)
    return marks


async def _push(session: AnswerSession, one: Recording, began: float) -> None:
    start = 0
    for number, frame in enumerate(chunks(one.then_silence(TAIL_S)), 1):
        await asyncio.sleep(max(0.0, began + number * CHUNK_S - time.monotonic()))
        session.push(AudioChunk(start, frame))
        start += len(frame) // BYTES_PER_SAMPLE
    session.done()


def _waited(shown: Shown) -> float:
    at_s = shown.last_word_s()
    return NEVER_S if at_s is None else at_s


def _table(number: int, marks: Sequence[Marks], others: Sequence[Side], neighbours: Neighbours) -> Table:
    ours = [_waited(one.shown) for one in marks]
    rows = [
        _row("last word on the page", ours, goal_p95=0.9 if number == 8 else None),
        _row("first content", [one.content_s for one in marks], goal=0.6 if number == 1 else None),
        _row("soft commit", [one.soft_s for one in marks], goal=0.9 if number == 1 else None),
        _hard(number, marks),
        Row("cut off", [100.0 * sum(one.cut_off for one in marks) / len(marks)], "%"),
    ]
    for side in others:
        theirs = side.last_word_s[number]
        rows.append(_row(f"{side.name}: last word", theirs))
        ratio = statistics.median(ours) / max(0.001, statistics.median(theirs))
        rows.append(Row(f"last word, ours : {side.name}", [ratio], "", goal=side.goals.get(number)))
    notes = [neighbours.note(), *_never("ours", ours)]
    for side in others:
        notes += _never(side.name, side.last_word_s[number])
    return Table(f"B1, {number} at once, from the end of speech (real time)", rows, notes)


def _hard(number: int, marks: Sequence[Marks]) -> Row:
    row = _row("hard commit", [one.hard_s for one in marks], goal=2.2 if number == 1 else None)
    row.goal_p95 = 3200.0 if number == 1 else None
    return row


def _row(
    name: str, waited_s: Sequence[float | None], goal: float | None = None, goal_p95: float | None = None
) -> Row:
    samples = [1000 * (NEVER_S if one is None else one) for one in waited_s]
    limits = [None if limit is None else 1000 * limit for limit in (goal, goal_p95)]
    return Row(name, samples, "ms", goal=limits[0], goal_p95=limits[1])


def _never(name: str, waited_s: Sequence[float]) -> list[str]:
    count = sum(one >= NEVER_S for one in waited_s)
    return (
        [f"{name}: {count} of {len(waited_s)} last words took {NEVER_S:g} s or never came"] if count else []
    )
