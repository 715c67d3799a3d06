"""One thread for all sessions: real threads and loops, a model whose timing and failures are scripted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from inference import hearing as hearing_module
from inference.adapters.fakes import Loudness
from inference.audio import SAMPLE_RATE, WINDOW_BYTES, WINDOW_SAMPLES, AudioChunk, Hole
from inference.config import Endpointing
from inference.endpointing import Endpointer, Guess, Heard, Missed, Onset, Sound, UtteranceEnded
from inference.hearing import BATCH, RUN_WINDOWS, Ears, Hearing
from inference.ports import EngineUnavailable
from tests.inference.spoken import ROOT

WITHIN_S = 60.0
LOUD = b"\x00\x10" * WINDOW_SAMPLES
BAD = b"\x01\x00" * WINDOW_SAMPLES


class Model(Loudness):
    """Works while its gate is open; fails on a window that is BAD, with all that came along."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.asked = threading.Event()
        self.calls: list[list[bytes]] = []

    def score(self, states: Sequence[object], windows: Sequence[bytes]) -> Sequence[float]:
        self.calls.append(list(windows))
        self.asked.set()
        assert self.gate.wait(WITHIN_S)
        if BAD in windows:
            raise ValueError("a bad window")
        return super().score(states, windows)


@dataclass
class Stream:
    """One answer and what came of it."""

    ears: Ears
    endpointer: Endpointer = field(default_factory=lambda: Endpointer(Endpointing()))
    sounds: list[Sound] = field(default_factory=list)
    lost: list[EngineUnavailable] = field(default_factory=list)
    at: int = 0

    def __post_init__(self) -> None:
        self.ear: Hearing = self.ears.listen(self.endpointer, self.hear, self.lost.append)

    def hear(self, sounds: Sequence[Sound]) -> None:
        self.sounds.extend(sounds)

    def say(self, window: bytes, count: int) -> None:
        self.ear.push(AudioChunk(self.at, window * count))
        self.at += count * WINDOW_SAMPLES

    async def end(self) -> None:
        self.ear.close()
        async with asyncio.timeout(WITHIN_S):
            await self.ear.ended

    @property
    def ended(self) -> list[UtteranceEnded]:
        return [sound for sound in self.sounds if isinstance(sound, UtteranceEnded)]

    @property
    def clock(self) -> list[float]:
        return [sound.at_s for sound in self.sounds if isinstance(sound, Heard)]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def ears(model: Model) -> AsyncIterator[Ears]:
    ears = Ears(model)
    yield ears
    model.gate.set()
    await ears.aclose()


async def blocked(model: Model, ears: Ears) -> Stream:
    """A stream whose first window the thread is working on, until the gate opens."""
    model.gate.clear()
    first = Stream(ears)
    first.say(LOUD, 1)
    assert await asyncio.to_thread(model.asked.wait, WITHIN_S)
    return first


async def test_what_is_pushed_comes_back_as_sounds_in_order(ears: Ears) -> None:
    stream = Stream(ears)
    stream.say(bytes(WINDOW_BYTES), 40)
    stream.say(LOUD, 60)
    await stream.end()
    (end,) = stream.ended
    assert (end.reason, end.utterance.end_s) == ("finish", 100 * WINDOW_SAMPLES / SAMPLE_RATE)
    assert stream.clock == sorted(stream.clock)
    assert stream.clock[-1] == 100 * WINDOW_SAMPLES / SAMPLE_RATE
    assert all(later - sooner <= RUN_WINDOWS * 0.0321 for sooner, later in pairwise(stream.clock))


async def test_windows_of_all_streams_are_scored_in_one_call_and_answered_in_one_wake_up(
    model: Model, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await blocked(model, ears)
    others = [Stream(ears) for _ in range(20)]
    for stream in others:
        stream.say(LOUD, 1)
    loop, woken = asyncio.get_running_loop(), 0
    wake = loop.call_soon_threadsafe

    def counted(*given):  # type: ignore[no-untyped-def]
        nonlocal woken
        woken += threading.current_thread().name == "ears"
        return wake(*given)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    model.gate.set()
    async with asyncio.timeout(WITHIN_S):
        while not all(stream.sounds for stream in [first, *others]):
            await asyncio.sleep(0.005)
    assert [len(call) for call in model.calls] == [1, 20]
    assert woken == 2


async def test_a_stream_that_is_far_behind_does_not_hold_a_live_one_up(model: Model, ears: Ears) -> None:
    await blocked(model, ears)
    behind, live = Stream(ears), Stream(ears)
    behind.say(bytes(WINDOW_BYTES), 3_000)
    live.say(LOUD, 1)
    model.gate.set()
    await live.end()
    await behind.end()
    assert next(at for at, call in enumerate(model.calls[1:]) if LOUD in call) <= RUN_WINDOWS
    assert behind.clock[-1] == 3_000 * WINDOW_SAMPLES / SAMPLE_RATE


async def test_more_streams_than_one_batch_that_are_behind_take_turns(model: Model, ears: Ears) -> None:
    await blocked(model, ears)
    streams = [Stream(ears) for _ in range(BATCH + 10)]
    for stream in streams:
        stream.say(LOUD, 60)
    model.gate.set()
    for stream in streams:
        await stream.end()
    assert all(len(stream.ended) == 1 for stream in streams)
    assert max(len(call) for call in model.calls) <= BATCH
    begun = sum(len(call) for call in model.calls[1 : 1 + 3 * RUN_WINDOWS])
    assert begun > BATCH * RUN_WINDOWS  # the last ones need not wait for the first


async def test_guesses_are_left_out_while_later_words_wait(model: Model, ears: Ears) -> None:
    await blocked(model, ears)
    behind = Stream(ears)
    behind.say(LOUD, 600)
    model.gate.set()
    await behind.end()
    guessed = [sound.utterance.end_s for sound in behind.sounds if isinstance(sound, Guess)]
    assert all(end_s > 600 * 0.032 - 2.0 for end_s in guessed)


async def test_a_stream_that_cannot_be_scored_is_lost_alone_and_its_holes_are_still_told(
    model: Model, ears: Ears
) -> None:
    await blocked(model, ears)
    well, bad = Stream(ears), Stream(ears)
    well.say(LOUD, 20)
    bad.say(LOUD, 5)
    bad.say(BAD, 1)
    model.gate.set()
    bad.ear.push(AudioChunk(bad.at, b"", Hole(1.0, "lost")))
    bad.say(LOUD, 20)
    await asyncio.gather(well.end(), bad.end())
    assert [type(sound) for sound in bad.sounds if not isinstance(sound, Heard)] == [Onset, Missed]
    assert (len(bad.lost), len(well.lost), len(well.ended)) == (1, 0, 1)


class _Breaks(Endpointer):
    def feed(self, run: AudioChunk, probabilities: Sequence[float]) -> list[Sound]:
        raise ZeroDivisionError


async def test_an_endpointer_that_breaks_is_lost_alone(model: Model, ears: Ears) -> None:
    well, broken = Stream(ears), Stream(ears, _Breaks(Endpointing()))
    for stream in (well, broken):
        stream.say(LOUD, 20)
    await asyncio.gather(well.end(), broken.end())
    assert (len(broken.lost), len(well.ended)) == (1, 1)


async def test_who_cannot_bear_what_is_heard_gets_the_error_and_the_others_go_on(ears: Ears) -> None:
    well, faulty = Stream(ears), Stream(ears)

    def fail(_: Sequence[Sound]) -> None:
        raise ZeroDivisionError

    faulty.ear = ears.listen(faulty.endpointer, fail, faulty.lost.append)
    for stream in (well, faulty):
        stream.say(LOUD, 20)
    with pytest.raises(ZeroDivisionError):
        await faulty.end()
    await well.end()
    assert len(well.ended) == 1


async def test_a_loop_that_has_died_hurts_nobody(model: Model, ears: Ears) -> None:
    async def leave() -> None:
        (await blocked(model, ears)).say(LOUD, 20)

    await asyncio.to_thread(asyncio.run, leave())
    stream = Stream(ears)
    stream.say(LOUD, 20)
    model.gate.set()
    await stream.end()
    assert len(stream.ended) == 1


async def test_after_stop_not_one_more_sound_comes(model: Model, ears: Ears) -> None:
    first = await blocked(model, ears)
    first.say(LOUD, 20)
    first.ear.stop()
    model.gate.set()
    assert first.ear.ended.done()
    other = Stream(ears)
    other.say(LOUD, 20)
    await other.end()
    first.say(LOUD, 20)
    await first.end()
    assert first.sounds == []


async def test_of_too_much_that_waits_the_oldest_is_dropped_and_counted(
    model: Model, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing_module, "WAITING_CHUNKS", 5)
    await blocked(model, ears)
    late = Stream(ears)
    for _ in range(8):
        late.say(bytes(WINDOW_BYTES), 2)
    assert late.ear.dropped == 3
    assert late.ear.behind_s == 10 * WINDOW_SAMPLES / SAMPLE_RATE
    model.gate.set()
    await late.end()
    assert late.clock[0] > 6 * WINDOW_SAMPLES / SAMPLE_RATE
    assert late.clock[-1] == 16 * WINDOW_SAMPLES / SAMPLE_RATE


async def test_ten_minutes_that_are_heard_again_are_not_too_much(model: Model, ears: Ears) -> None:
    await blocked(model, ears)
    again = Stream(ears)
    for _ in range(300):
        again.say(bytes(WINDOW_BYTES), 63)
    assert again.ear.dropped == 0
    again.ear.stop()


async def test_who_still_speaks_when_the_ears_close_is_told_and_can_end(model: Model) -> None:
    ears = Ears(model)
    speaking, silent = Stream(ears), Stream(ears)
    speaking.say(LOUD, 20)
    await ears.aclose()
    speaking.say(LOUD, 20)
    await asyncio.gather(speaking.end(), silent.end())
    assert (len(speaking.lost), silent.lost) == (1, [])
    assert not any(thread.name == "ears" for thread in threading.enumerate())


async def test_what_is_not_heard_in_time_is_lost_and_the_answer_ends(
    model: Model, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing_module, "HEARD_WITHIN_S", 0.05)
    stuck = await blocked(model, ears)
    await stuck.end()
    assert len(stuck.lost) == 1


async def test_a_thread_that_ended_for_want_of_speech_begins_again(
    model: Model, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing_module, "IDLE_S", 0.01)
    first = Stream(ears)
    first.say(LOUD, 20)
    await first.end()
    async with asyncio.timeout(WITHIN_S):
        while any(thread.name == "ears" for thread in threading.enumerate()):
            await asyncio.sleep(0.01)
    second = Stream(ears)
    second.say(LOUD, 20)
    await second.end()
    assert len(second.ended) == 1


IN_A_PROCESS = """
import asyncio, os, sys, time
from inference.adapters.silero import SileroModel
from inference.audio import AudioChunk
from inference.config import Endpointing
from inference.endpointing import Endpointer
from inference.hearing import Ears

async def listening(seconds):
    heard = asyncio.Event()
    ear = ears.listen(Endpointer(Endpointing()), lambda _: heard.set(), lambda _: None)
    ear.push(AudioChunk(0, bytes(32_000 * seconds)))
    async with asyncio.timeout(60):
        await heard.wait()

ears = Ears(SileroModel())
asyncio.run(listening(int(sys.argv[1])))
if sys.argv[2] == "fork":
    while not ears._idle:
        time.sleep(0.01)
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    asyncio.run(listening(1))
"""


@pytest.mark.parametrize(("seconds", "then"), [("600", "end"), ("1", "fork")])
def test_a_process_ends_well_while_it_hears_and_a_fork_of_it_hears_too(seconds: str, then: str) -> None:
    command = [sys.executable, "-c", IN_A_PROCESS, seconds, then]
    subprocess.run(command, check=True, timeout=WITHIN_S, cwd=ROOT)


async def test_an_utterance_is_cut_where_it_is_asked(ears: Ears) -> None:
    stream = Stream(ears)
    stream.say(LOUD, 200)
    async with asyncio.timeout(WITHIN_S):
        while not stream.clock or stream.clock[-1] < 6.0:
            await asyncio.sleep(0.005)
    stream.ear.cut(3.2)
    await stream.end()
    first, second = stream.ended
    assert (first.reason, first.utterance.end_s, second.utterance.start_s) == ("cut", 3.2, 3.2)


async def test_how_long_a_tick_works_and_how_far_it_is_behind_is_observed(model: Model) -> None:
    seen: dict[str, float] = {}
    ears = Ears(model, observe=seen.__setitem__)
    stream = Stream(ears)
    stream.say(LOUD, 20)
    await stream.end()
    await ears.aclose()
    assert set(seen) == {"vad_tick_s", "vad_behind_s"}
