"""The line in front of a recogniser."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from inference.adapters.waiting import LOAD_OVER_S, Load, Request, WaitingLine
from inference.ports import EngineBusy, Priority, Speech

SPEECH = Speech(b"\0\0", "en")


def request(priority: Priority) -> Request:
    return Request(SPEECH, priority, asyncio.get_running_loop().create_future())


async def test_finals_go_before_partials_and_each_in_order_of_arrival() -> None:
    line = WaitingLine(9, Counter())
    made = [request(p) for p in (Priority.PARTIAL, Priority.ANALYSIS, Priority.FINAL, Priority.FINAL)]
    for one in made:
        line.put(one)
    partial, analysis, first, second = made
    assert [line.pop() for _ in range(5)] == [first, second, partial, analysis, None]


async def test_who_gave_up_is_skipped_and_counted() -> None:
    counters: Counter[str] = Counter()
    line = WaitingLine(9, counters)
    gone, stays = request(Priority.FINAL), request(Priority.FINAL)
    line.put(gone)
    line.put(stays)
    gone.answer.cancel()
    assert len(line) == 1
    assert line.pop() is stays
    assert counters["given_up"] == 1


async def test_a_full_line_refuses_whoever_would_be_last() -> None:
    counters: Counter[str] = Counter()
    line = WaitingLine(2, counters)
    line.put(request(Priority.FINAL))
    line.put(request(Priority.PARTIAL))
    with pytest.raises(EngineBusy):
        line.put(request(Priority.PARTIAL))
    assert counters["pushed_out"] == 1


async def test_a_final_pushes_the_last_partial_out_of_a_full_line() -> None:
    line = WaitingLine(2, Counter())
    early, late, final = request(Priority.PARTIAL), request(Priority.PARTIAL), request(Priority.FINAL)
    for one in (early, late, final):
        line.put(one)
    with pytest.raises(EngineBusy):
        await late.answer
    assert [line.pop(), line.pop(), line.pop()] == [final, early, None]


async def test_those_who_gave_up_do_not_fill_the_line() -> None:
    line = WaitingLine(2, Counter())
    for _ in range(2):
        gone = request(Priority.FINAL)
        line.put(gone)
        gone.answer.cancel()
    line.put(request(Priority.PARTIAL))
    assert len(line) == 1


async def test_who_is_hastened_goes_with_the_finals_by_arrival() -> None:
    line = WaitingLine(9, Counter())
    eager = Request(Speech(b"\0\0", "en"), Priority.EAGER, asyncio.get_running_loop().create_future())
    other, final = request(Priority.EAGER), request(Priority.FINAL)
    for one in (other, eager, final):
        line.put(one)
    line.hasten(eager.speech)
    assert [line.pop() for _ in range(3)] == [eager, final, other]
    line.hasten(eager.speech)  # gone: nothing happens


def test_the_load_is_the_share_of_work_in_the_last_seconds() -> None:
    now = 0.0
    load = Load(lambda: now)
    assert load.share == 0.0
    with load.work():
        now += LOAD_OVER_S
        assert 0.6 < load.share < 0.7
        now += 10 * LOAD_OVER_S
        assert load.share > 0.99
    now += LOAD_OVER_S
    assert 0.3 < load.share < 0.4
    with pytest.raises(ValueError, match="broken"), load.work():
        raise ValueError("broken")
    now += 20 * LOAD_OVER_S
    assert load.share < 0.01


def test_the_load_of_two_places_of_which_one_works_is_a_half() -> None:
    now = 0.0
    load = Load(lambda: now, places=2)
    with load.work():
        now += 20 * LOAD_OVER_S
        assert 0.49 < load.share < 0.51
        with load.work():
            now += 20 * LOAD_OVER_S
            assert load.share > 0.99


async def test_who_may_not_be_served_yet_keeps_the_place() -> None:
    line = WaitingLine(9, Counter())
    guess, eager = request(Priority.PARTIAL), request(Priority.EAGER)
    line.put(guess)
    assert line.pop(Priority.EAGER) is None
    line.put(eager)
    assert [line.pop(Priority.EAGER), line.pop(Priority.EAGER), line.pop()] == [eager, None, guess]


async def test_who_is_put_back_goes_before_those_who_came_later() -> None:
    line = WaitingLine(9, Counter())
    first, second = request(Priority.FINAL), request(Priority.FINAL)
    line.put(first)
    assert line.pop() is first
    line.put(second)
    line.put(first)
    assert [line.pop(), line.pop()] == [first, second]
