"""A session that is told what came before, beside what comes meanwhile: all of it once and in order."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from apps.live import replay
from apps.live.messages import End, Gap
from apps.live.replay import Replay, Turns, ahead_s
from apps.live.spool import Spool, open_spool
from apps.live.spool_scan import LostRun
from inference import events as ev
from inference.audio import AudioChunk
from tests.live.stack import ANSWER, WITHIN_S
from tests.live.test_answer import Bench, fill
from tests.live.wire import frames, numbered_pcm, silence, speech


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    opened = open_spool(tmp_path / "spool", 1)
    yield opened
    opened.close()


@pytest.mark.parametrize("seed", range(6))
def test_what_comes_meanwhile_is_told_in_its_place_and_once(spool: Spool, seed: int) -> None:
    chance, pcm = random.Random(seed), numbered_pcm(120)  # noqa: S311
    all_frames = frames(pcm)

    async def told() -> list[AudioChunk | LostRun]:
        going = Replay(spool, 0)
        left = iter(all_frames[40:])

        async def meanwhile() -> None:
            for frame in [next(left, None) for _ in range(chance.randint(0, 30))]:
                if frame is not None:
                    start = spool.samples
                    assert spool.append(frame) == "stored"
                    going.came(AudioChunk(start, frame.pcm))
            if chance.random() < 0.5:
                spool.flush()

        pieces = [piece async for piece in going.pieces(meanwhile)]
        spool.flush()
        return pieces

    for frame in all_frames[:40]:
        spool.append(frame)
    spool.flush()
    pieces = [piece for piece in asyncio.run(told()) if isinstance(piece, AudioChunk)]
    assert b"".join(piece.pcm for piece in pieces) == pcm[: spool.samples * 2]
    assert [piece.start for piece in pieces][1:] == [piece.start + piece.samples for piece in pieces][:-1]


def test_a_hole_that_comes_meanwhile_is_told_between_its_frames(spool: Spool) -> None:
    fill(spool, numbered_pcm(10))

    async def told() -> list[AudioChunk | LostRun]:
        going = Replay(spool, 0)

        async def meanwhile() -> None:
            if spool.lost:
                return
            spool.gap(10, 15, 100, "lost")
            [frame] = frames(speech(0.1), first_seq=15)
            going.came(AudioChunk(spool.samples, frame.pcm))
            spool.append(frame)

        return [piece async for piece in going.pieces(meanwhile)]

    first, hole, last = asyncio.run(told())
    assert isinstance(hole, LostRun)
    assert isinstance(last, AudioChunk)
    assert (hole.seq, hole.to, last.start) == (10, 15, 16_000)
    assert first == AudioChunk(0, numbered_pcm(10))


def test_a_hole_that_is_kept_while_the_file_is_opened_is_told_in_its_place(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(spool, numbered_pcm(10))
    payloads = spool.payloads

    def late(from_sample: int = 0) -> Iterator[bytes]:
        if not spool.lost:
            spool.gap(10, 15, 100, "lost")
            fill(spool, speech(0.5))
        return payloads(from_sample)

    monkeypatch.setattr(spool, "payloads", late)

    async def told() -> list[AudioChunk | LostRun]:
        return [piece async for piece in Replay(spool, 0).pieces(partial(asyncio.sleep, 0))]

    first, hole, last = asyncio.run(told())
    assert isinstance(hole, LostRun)
    assert isinstance(last, AudioChunk)
    assert (first, hole.at_sample, last.start) == (AudioChunk(0, numbered_pcm(10)), 16_000, 16_000)


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> Turns:
    """Somebody always waits for a welcome, until he is welcome."""
    mine = Turns()
    mine.arrives("another page")
    monkeypatch.setattr("apps.live.answer.turns", mine)
    monkeypatch.setattr(replay, "WELCOMES_FIRST_S", 3_600.0)
    monkeypatch.setattr(replay, "LOOK_AGAIN_S", 0.01)
    return mine


async def outcome_of(bench: Bench, held_up: Turns) -> str:
    running = asyncio.create_task(bench.answer.run())
    await asyncio.sleep(0.05)
    assert not bench.logged
    held_up.is_welcome("another page")
    outcome = await asyncio.wait_for(running, WITHIN_S)
    return f"{outcome.end_reason}: {outcome.transcript}"


def test_an_end_that_comes_before_the_words_were_told_again_ends_the_turn_behind_them(
    spool: Spool, held_up: Turns
) -> None:
    fill(spool, speech(1.0) + silence(0.5))

    async def ended() -> str:
        bench = Bench(spool)
        bench.answer.restore("")
        bench.answer.end(End(type="end", answer=1, last_seq=14))
        return await outcome_of(bench, held_up)

    assert asyncio.run(ended()) == f"done: {ANSWER}"


def test_a_typed_answer_that_was_kept_follows_what_was_said(spool: Spool, held_up: Turns) -> None:
    fill(spool, speech(1.0) + silence(0.5))

    async def typed() -> str:
        bench = Bench(spool)
        bench.answer.restore("And typed.")
        bench.answer.end(End(type="end", answer=1, last_seq=14))
        return await outcome_of(bench, held_up)

    assert asyncio.run(typed()) == f"text: {ANSWER} And typed."


def test_a_skipped_question_waits_for_no_replay(spool: Spool, held_up: Turns) -> None:
    fill(spool, speech(1.0) + silence(0.5))

    async def skipped() -> str:
        bench = Bench(spool)
        bench.answer.restore("")
        running = asyncio.create_task(bench.answer.run())
        await asyncio.sleep(0)
        bench.answer.skip()
        outcome = await asyncio.wait_for(running, WITHIN_S)
        return outcome.end_reason

    assert asyncio.run(skipped()) == "skipped"


def test_holes_behind_the_end_of_a_turn_that_ended_meanwhile_are_still_told(
    spool: Spool, held_up: Turns
) -> None:
    fill(spool, speech(1.0))
    spool.gap(10, 12, 100, "lost")
    fill(spool, speech(0.5))

    async def told() -> list[ev.AudioMissing]:
        bench = Bench(spool)
        bench.answer.restore("")
        running = asyncio.create_task(bench.answer.run())
        await asyncio.sleep(0)
        bench.answer.skip()
        gap = {"type": "gap", "answer": 1, "from": 17, "to": 20, "why": "lost"}
        bench.answer.take_gap(Gap.model_validate(gap))
        await asyncio.wait_for(running, WITHIN_S)
        return [event for event in bench.logged if isinstance(event, ev.AudioMissing)]

    assert [(missing.at_s, missing.seconds) for missing in asyncio.run(told())] == [(1.0, 0.2), (1.5, 0.3)]


def test_finishing_is_decided_when_everything_was_told(spool: Spool, held_up: Turns) -> None:
    fill(spool, speech(1.0) + silence(0.5))

    async def decided() -> list[bool]:
        bench, seen = Bench(spool), list[bool]()

        def finish() -> None:
            seen.append(bench.answer.may_hold_speech)
            bench.answer.done()

        bench.answer.restore("")
        bench.answer.when_caught_up(finish)
        assert not seen
        assert await outcome_of(bench, held_up) == f"done: {ANSWER}"
        bench.answer.when_caught_up(finish)
        return seen

    assert asyncio.run(decided()) == [True, True]


def test_frames_and_holes_that_come_while_others_come_first_are_heard_in_order(
    spool: Spool, held_up: Turns
) -> None:
    fill(spool, silence(0.5))

    async def heard() -> list[ev.AudioMissing]:
        bench = Bench(spool)
        bench.answer.restore("")
        for frame in frames(speech(0.5), first_seq=5):
            bench.answer.take(frame)
        gap = {"type": "gap", "answer": 1, "from": 10, "to": 12, "why": "lost"}
        bench.answer.take_gap(Gap.model_validate(gap))
        for frame in frames(silence(0.5), first_seq=12):
            bench.answer.take(frame)
        bench.answer.end(End(type="end", answer=1, last_seq=16))
        assert await outcome_of(bench, held_up) == f"done: {ANSWER}"
        return [event for event in bench.logged if isinstance(event, ev.AudioMissing)]

    assert [(missing.at_s, missing.seconds) for missing in asyncio.run(heard())] == [(1.0, 0.2)]


def test_a_socket_that_leaves_meanwhile_gives_its_turn_back(spool: Spool, held_up: Turns) -> None:
    fill(spool, speech(1.0))
    held_up.is_welcome("another page")

    async def left() -> None:
        bench = Bench(spool)
        bench.answer.restore("")
        running = asyncio.create_task(bench.answer.run())
        while not held_up._running:
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(left())
    assert held_up._running == 0


def test_a_socket_that_leaves_while_the_disk_is_slow_is_only_cancelled(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(spool, speech(1.0))
    reading, go_on = threading.Event(), threading.Event()

    def slow(from_sample: int = 0) -> Iterator[bytes]:
        reading.set()
        go_on.wait(WITHIN_S)
        yield speech(1.0)

    monkeypatch.setattr(spool, "payloads", slow)

    async def left() -> object:
        bench = Bench(spool)
        bench.answer.restore("")
        running = asyncio.create_task(bench.answer.run())
        await asyncio.to_thread(reading.wait, WITHIN_S)
        running.cancel()
        [ended] = await asyncio.gather(running, return_exceptions=True)
        go_on.set()
        return ended

    assert isinstance(asyncio.run(left()), asyncio.CancelledError)


def test_few_replay_at_once_and_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    some = Turns(at_once=1)
    some._running = 1
    assert some._others_first(0.0)
    assert not some._others_first(replay.OTHERS_FIRST_S)
    some._running = 0
    assert not some._others_first(0.0)
    some.arrives("page")
    assert some._others_first(0.0)
    assert not some._others_first(replay.WELCOMES_FIRST_S)


def test_a_long_recording_is_told_no_faster_than_it_can_be_heard() -> None:
    assert ahead_s(replay.AT_ONCE_S, 0.0) <= 0
    assert ahead_s(replay.AT_ONCE_S + 80.0, 4.0) == 80.0 / replay.TIMES_LIFE - 4.0


async def test_pages_come_in_a_few_at_once_in_their_order_and_one_that_leaves_keeps_nobody_waiting() -> None:
    some, pages, inside = Turns(entering=2), list("abcde"), []

    async def comes(page: str) -> None:
        await some.enter(page)
        inside.append(page)

    for page in pages:
        some.arrives(page)
    coming = {page: asyncio.create_task(comes(page)) for page in pages}
    await asyncio.sleep(0)
    assert (inside, some.crowded) == (["a", "b"], True)
    coming["c"].cancel()
    some.is_welcome("c")  # it left while it waited
    some.is_welcome("a")
    await asyncio.wait_for(coming["d"], 30)
    assert inside == ["a", "b", "d"]
    for page in "bd":
        some.is_welcome(page)
    await asyncio.wait_for(coming["e"], 30)
    assert not some.crowded


async def test_a_page_waits_for_its_turn_to_come_in_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "ENTER_WITHIN_S", 0.01)
    some = Turns(entering=1)
    for page in "ab":
        some.arrives(page)
        await asyncio.wait_for(some.enter(page), 30)
    assert some._entering == {"a", "b"}
