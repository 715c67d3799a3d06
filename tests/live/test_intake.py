from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from weakref import ref

import pytest

from apps.live import intake
from apps.live.close_codes import CloseCode, Refused
from apps.live.frames import DISCONTINUITY, decode_frame, encode_frame
from apps.live.intake import (
    CROWDED_ROOM,
    HELD_S,
    MAX_ANSWER_S,
    Allowance,
    Intake,
    Letterbox,
    RateCheck,
    _letterbox,
)
from apps.live.messages import Ack, Nack
from apps.live.outbox import Outgoing
from apps.live.replay import Turns
from apps.live.spool import MAX_UNSYNCED_FRAMES, open_spool
from inference import events as ev
from inference.audio import SAMPLE_RATE, AudioChunk, MissingWhy
from tests.live.wire import frames, numbered_pcm, silence


@dataclass
class Ears:
    """Hears everything that an intake gives on."""

    heard: list[AudioChunk] = field(default_factory=list)
    missed: list[tuple[float, MissingWhy]] = field(default_factory=list)
    filled: list[bool] = field(default_factory=list)

    def hear(self, chunk: AudioChunk) -> None:
        self.heard.append(chunk)

    def miss(self, seconds: float, why: MissingWhy) -> None:
        self.missed.append((seconds, why))

    def full(self) -> None:
        self.filled.append(True)


@dataclass
class Desk(Ears):
    """An intake with everything it says and gives on."""

    told: list[Outgoing] = field(default_factory=list)

    def open(self, folder: Path) -> None:
        self.intake = Intake(open_spool(folder, 1), self.told.append, self)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk()
    made.open(tmp_path)
    yield made
    made.intake.spool.close()


def test_audio_goes_to_the_session_at_once_and_is_acknowledged_once_kept(desk: Desk) -> None:
    for frame in frames(numbered_pcm(3)):
        desk.intake.take(frame)
    assert [chunk.start for chunk in desk.heard] == [0, 1600, 3200]
    assert desk.told == []
    desk.intake.spool.flush()
    desk.intake.kept()
    assert desk.told == [Ack(answer=1, upto=2, window=desk.intake.window)]


def test_frames_turned_away_are_asked_for_once_there_is_room(desk: Desk) -> None:
    many = frames(numbered_pcm(MAX_UNSYNCED_FRAMES + 5))
    for frame in many:
        desk.intake.take(frame)
    assert len(desk.heard) == MAX_UNSYNCED_FRAMES
    assert desk.told == []
    assert (desk.intake.room, desk.intake.window) == (0, MAX_UNSYNCED_FRAMES)
    desk.intake.spool.flush()
    desk.intake.kept()
    assert desk.told[0] == Nack(answer=1, from_=MAX_UNSYNCED_FRAMES)
    assert isinstance(desk.told[1], Ack)


def test_calls_of_many_threads_come_to_the_loop_in_order_and_wake_it_once() -> None:
    called: list[int] = []

    def fail() -> None:
        raise RuntimeError("a page that cannot be told is no other page's trouble")

    async def woken() -> int:
        loop, wakes = asyncio.get_running_loop(), list[object]()
        box, wake = _letterbox(), loop.call_soon_threadsafe

        def counted(call: Callable[[], None]) -> None:
            wakes.append(call)
            wake(call)

        def put_five() -> None:
            for number in range(5):
                box.put(partial(called.append, number))

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(loop, "call_soon_threadsafe", counted)
            sender = threading.Thread(target=put_five)
            sender.start()
            sender.join()  # the loop stands still meanwhile
        box.put(fail)
        box.put(partial(called.append, 5))
        await asyncio.sleep(0.01)
        box.put(partial(called.append, 6))
        await asyncio.sleep(0.01)
        return len(wakes)

    assert asyncio.run(woken()) == 1
    assert called == list(range(7))


def test_a_loop_that_ended_is_told_nothing_and_forgotten() -> None:
    loop = asyncio.new_event_loop()
    boxes: list[Letterbox] = []

    async def opened() -> None:
        boxes.append(_letterbox())

    loop.run_until_complete(opened())
    loop.close()
    for _ in range(3):
        boxes[0].put(lambda: None)
        assert not boxes[0]._calls
    gone = ref(loop)
    del loop
    gc.collect()
    assert gone() is None
    boxes[0].put(lambda: None)
    assert not boxes[0]._calls


def test_a_full_disk_is_told_once_and_closes_the_window_until_it_is_over(desk: Desk) -> None:
    desk.intake.take(frames(numbered_pcm(1))[0])
    desk.intake.unkept()
    desk.intake.unkept()
    assert [m.type for m in desk.told] == ["problem", "ack", "ack"]
    assert [m.window for m in desk.told if isinstance(m, Ack)] == [0, 0]
    desk.intake.spool.flush()
    desk.intake.kept()
    last = desk.told[-1]
    assert isinstance(last, Ack)
    assert (last.upto, last.window > 0) == (0, True)


def test_a_page_told_to_wait_hears_when_it_may_go_on(desk: Desk) -> None:
    desk.intake._allowance = Allowance(left_s=-20.0, at=time.monotonic())
    desk.intake.take(frames(numbered_pcm(1))[0])
    desk.intake.acknowledge()
    assert desk.told == [Ack(answer=1, upto=-1, window=1)]  # the one that waits for the disk, and no more
    desk.intake.reopen()
    assert len(desk.told) == 1
    desk.intake._allowance.left_s = 5.0
    desk.intake.reopen()
    assert isinstance(desk.told[-1], Ack)
    assert desk.told[-1].window > 40


def test_a_page_that_is_welcomed_in_a_crowd_sends_nothing_for_five_seconds_or_until_the_others_are_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd, now_s = Turns(entering=0), [100.0]
    monkeypatch.setattr(intake, "turns", crowd)
    monkeypatch.setattr(time, "monotonic", lambda: now_s[0])
    crowd.arrives("another")
    first, second = Desk(), Desk()
    first.open(tmp_path / "first")
    second.open(tmp_path / "second")
    assert first.intake.room == CROWDED_ROOM  # of one that was here before them
    for desk in (first, second):
        desk.intake.hold()
        assert (desk.intake.window, desk.intake.room) == (0, 0)  # what its welcome says
    now_s[0] += HELD_S
    first.intake.reopen()
    assert first.told == [Ack(answer=1, upto=-1, window=CROWDED_ROOM)]
    now_s[0] -= 1.0
    second.intake.reopen()
    assert second.told == []
    crowd.is_welcome("another")
    second.intake.reopen()
    assert [m.window for m in second.told if isinstance(m, Ack)] == [MAX_UNSYNCED_FRAMES]
    for desk in (first, second):
        desk.intake.spool.close()


def test_an_endless_answer_is_ended_and_later_frames_are_refused(desk: Desk) -> None:
    desk.intake.spool._samples = MAX_ANSWER_S * SAMPLE_RATE - 800
    desk.intake.take(frames(numbered_pcm(1))[0])
    assert desk.filled == [True]
    desk.intake.spool._samples = (MAX_ANSWER_S + 11) * SAMPLE_RATE
    with pytest.raises(Refused) as refused:
        desk.intake.take(frames(numbered_pcm(3))[2])
    assert refused.value.code == CloseCode.TOO_LONG


def test_a_server_that_died_with_the_last_frame_that_fits_still_ends_the_answer(
    desk: Desk, tmp_path: Path
) -> None:
    desk.intake.take(frames(numbered_pcm(1))[0])
    desk.intake.spool.close()
    desk.open(tmp_path)
    desk.intake.spool._samples = MAX_ANSWER_S * SAMPLE_RATE
    desk.intake.take(frames(numbered_pcm(2))[1])
    assert desk.filled == [True]


def test_catching_up_at_four_times_real_time_is_allowed_for_ever() -> None:
    allowance = Allowance()
    for second in range(1, 600):
        allowance.spend(4.0, float(second))
    with pytest.raises(Refused) as refused:
        spend_at_ten_times(allowance)
    assert refused.value.code == CloseCode.RATE


def spend_at_ten_times(allowance: Allowance) -> None:
    for second in range(600, 630):
        allowance.spend(10.0, float(second))


def rate_seen(audio_ms: int, capture_ms: int, flags: int = 0) -> list[int]:
    """Capture times, in ms, at which a mismatch was noticed."""
    check = RateCheck()
    pcm = silence(audio_ms / 1000)
    found = []
    for seq in range(100):
        at_us = seq * capture_ms * 1000
        raw = encode_frame(pcm, answer=1, seq=seq, capture_us=at_us, flags=flags if seq % 10 == 9 else 0)
        if check.mismatch(decode_frame(raw)):
            found.append(seq * capture_ms)
    return found


def test_a_microphone_at_another_rate_shows_after_three_seconds() -> None:
    assert rate_seen(100, 100) == []
    assert rate_seen(100, 108) == []  # a clock that drifts is no other rate
    assert rate_seen(300, 100)[0] == 3_000
    assert rate_seen(50, 100)[0] == 3_000


def test_audio_that_the_page_lost_is_no_other_rate() -> None:
    assert rate_seen(50, 100, DISCONTINUITY) == []


def test_the_rate_problem_is_told_once(desk: Desk) -> None:
    for seq in range(80):
        raw = encode_frame(silence(0.2), answer=1, seq=seq, capture_us=seq * 100_000)
        desk.intake.take(decode_frame(raw))
        if seq % 50 == 49:
            desk.intake.spool.flush()
    assert [m for m in desk.told if isinstance(m, ev.Problem)] == [ev.Problem(code="rate_mismatch")]


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_sound_that_comes_at_a_rate_nobody_declared_is_told_of_within_three_seconds(
    desk: Desk, rate: int
) -> None:
    pcm = silence(rate / 10 / SAMPLE_RATE)  # what a page takes for 100 ms
    for seq in range(31):
        desk.intake.take(decode_frame(encode_frame(pcm, answer=1, seq=seq, capture_us=seq * 100_000)))
    assert [m for m in desk.told if isinstance(m, ev.Problem)] == [ev.Problem(code="rate_mismatch")]
