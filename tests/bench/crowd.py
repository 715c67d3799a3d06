"""B6: what 200 speakers cost the event loop when each is heard on it, by a thread a call, and by our ears.

All push three windows at a time, 96 ms of speech. Ours also finds utterances in it; the others only score.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from inference.adapters.silero import SileroModel
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, WINDOW_BYTES, WINDOW_S, AudioChunk
from inference.config import Endpointing
from inference.endpointing import Endpointer, Heard, Sound
from inference.hearing import Ears
from inference.ports import EngineUnavailable
from tests.bench.figures import Neighbours, Row, Table, cpu_s, percentile, say
from tests.bench.recordings import spoken
from tests.bench.voice import windows

CHUNK_BYTES, CHUNK_S = 3 * WINDOW_BYTES, 3 * WINDOW_S
SESSIONS = 200
SECONDS = 6.0
LOOK_EVERY_S = 0.005
DRAIN_S = 3.0  # for what was pushed and not yet heard; then it counts with what it has waited so far

Push = Callable[[int, bytes], Awaitable[None]]


@dataclass
class Load:
    """What was seen in one run. Seconds."""

    lags: list[float] = field(default_factory=list)  # how much later the loop woke than it was asked to
    waits: list[float] = field(default_factory=list)  # from a chunk's push until it was heard
    cores: float = 0.0
    pushed: dict[tuple[int, int], float] = field(default_factory=dict)

    def heard(self, session: int, number: int) -> None:
        began = self.pushed.pop((session, number), None)
        if began is not None:
            self.waits.append(time.monotonic() - began)


async def crowd(rounds: int = 1, sessions: int = SESSIONS, seconds: float = SECONDS) -> list[Table]:
    """The three ways in turn, as often as there are rounds."""
    neighbours = Neighbours()
    found: dict[str, list[Load]] = {}
    for number in range(rounds):
        for name, way in WAYS.items():
            say(f"B6: {sessions} speakers, {name}, round {number + 1}")
            found.setdefault(name, []).append(await way(sessions, seconds))
    return [_table(sessions, found, neighbours)]


async def inline(sessions: int, seconds: float) -> Load:
    """Each window is scored where it arrives: on the loop."""
    model = SileroModel()
    states = [model.fresh() for _ in range(sessions)]

    async def hear(session: int, pcm: bytes) -> None:
        for window in windows(pcm):
            model.score([states[session]], [window])

    return await _played(sessions, seconds, hear)


async def thread_a_call(sessions: int, seconds: float) -> Load:
    """Each window is scored by a thread of a pool, as a quick port of blocking code does it."""
    model, pool = SileroModel(), ThreadPoolExecutor(os.cpu_count() or 2)
    states = [model.fresh() for _ in range(sessions)]
    loop = asyncio.get_running_loop()

    async def hear(session: int, pcm: bytes) -> None:
        for window in windows(pcm):
            await loop.run_in_executor(pool, model.score, [states[session]], [window])

    try:
        return await _played(sessions, seconds, hear)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


async def our_ears(sessions: int, seconds: float) -> Load:
    """One thread for all, a call a round; sounds come back once a tick."""
    ears, load = Ears(SileroModel()), Load()
    streams = [_Stream(number, load) for number in range(sessions)]
    open_ears = [ears.listen(Endpointer(Endpointing()), one.hear, one.lost) for one in streams]

    async def hear(session: int, pcm: bytes) -> None:
        open_ears[session].push(AudioChunk(streams[session].take(len(pcm) // BYTES_PER_SAMPLE), pcm))

    try:
        return await _played(sessions, seconds, hear, load)
    finally:
        for one in open_ears:
            one.stop()
        await ears.aclose()


WAYS = {"inline": inline, "a thread a call": thread_a_call, "our ears": our_ears}


@dataclass
class _Stream:
    """One speaker of ours: when was what he said heard?"""

    session: int
    load: Load
    pushed: int = 0
    number: int = 0
    waiting: deque[tuple[float, int]] = field(default_factory=deque)  # (end_s, chunk)

    def take(self, samples: int) -> int:
        """Where the next chunk begins."""
        start, self.pushed = self.pushed, self.pushed + samples
        self.waiting.append((self.pushed / SAMPLE_RATE, self.number))
        self.number += 1
        return start

    def hear(self, sounds: Sequence[Sound]) -> None:
        to_s = max((sound.at_s for sound in sounds if isinstance(sound, Heard)), default=0.0)
        while self.waiting and self.waiting[0][0] <= to_s:
            self.load.heard(self.session, self.waiting.popleft()[1])

    def lost(self, why: EngineUnavailable) -> None:
        raise why


async def _played(sessions: int, seconds: float, hear: Push, load: Load | None = None) -> Load:
    """Everybody speaks at his own time within the 96 ms; the loop's lag is watched beside."""
    speech = next(one.pcm for one in spoken() if one.id == "long_answer")
    ours, load = load is None, load or Load()
    began, used = time.monotonic(), cpu_s(os.getpid())
    watching = asyncio.create_task(_watch(load))

    async def speak(session: int) -> None:
        for number in range(round(seconds / CHUNK_S)):
            due = began + (number + session / sessions) * CHUNK_S
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            at = ((number + 7 * session) * CHUNK_BYTES) % (len(speech) - CHUNK_BYTES)
            load.pushed[session, number] = due
            await hear(session, speech[at : at + CHUNK_BYTES])
            if ours:
                load.heard(session, number)

    speaking = [asyncio.create_task(speak(session)) for session in range(sessions)]
    await asyncio.wait(speaking, timeout=seconds + DRAIN_S)
    load.cores = (cpu_s(os.getpid()) - used) / (time.monotonic() - began)
    load.waits += [time.monotonic() - due for due in load.pushed.values()]
    for task in [*speaking, watching]:
        task.cancel()
    await asyncio.gather(*speaking, watching, return_exceptions=True)
    return load


async def _watch(load: Load) -> None:
    while True:
        asked = time.monotonic()
        await asyncio.sleep(LOOK_EVERY_S)
        load.lags.append(max(0.0, time.monotonic() - asked - LOOK_EVERY_S))


def _table(sessions: int, found: dict[str, list[Load]], neighbours: Neighbours) -> Table:
    rows = []
    for name, loads in found.items():
        lags = [1000 * lag for load in loads for lag in load.lags]
        waits = [1000 * wait for load in loads for wait in load.waits]
        rows.append(Row(f"{name}: loop lag", lags, "ms"))
        rows.append(Row(f"{name}: loop lag, p99", [_p99(load) for load in loads], "ms"))
        rows.append(Row(f"{name}: chunk pushed → heard", waits, "ms"))
        rows.append(Row(f"{name}: chunk pushed → heard, p99", [percentile(waits, 0.99)], "ms"))
        rows.append(Row(f"{name}: cores", [load.cores for load in loads], ""))
    better = [
        _p99(theirs) / _p99(ours) for theirs, ours in zip(found["inline"], found["our ears"], strict=True)
    ]
    rows.append(Row("loop lag p99, inline : our ears", better, "", goal=20.0, at_least=True))
    return Table(f"B6: {sessions} speakers in one process", rows, [neighbours.note()])


def _p99(load: Load) -> float:
    return 1000 * percentile(load.lags, 0.99)
