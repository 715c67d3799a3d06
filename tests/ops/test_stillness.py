"""What stands still is told by the watcher's own clock, and a watcher that slept accuses nobody."""

from __future__ import annotations

import pytest

from apps.ops.stillness import Stillness
from tests.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> Stillness[str]:
    return Stillness(8.0, 4.0, clock)


def looks(watch: Stillness[str], clock: Clock, *beats: int, every_s: float = 2.0) -> list[list[str]]:
    told = []
    for beat in beats:
        told.append(watch.look({"a": beat}))
        clock.now_s += every_s
    return told


def test_a_beat_that_stands_still_is_told_until_it_moves(watch: Stillness[str], clock: Clock) -> None:
    assert looks(watch, clock, 7, 7, 7, 7, 7, 7, 8) == [[], [], [], [], ["a"], ["a"], []]


def test_a_beat_that_moves_is_never_told(watch: Stillness[str], clock: Clock) -> None:
    assert not any(looks(watch, clock, *range(20)))


def test_a_key_that_vanished_begins_anew(watch: Stillness[str], clock: Clock) -> None:
    looks(watch, clock, 7, 7, 7, 7)
    assert watch.look({}) == []
    assert looks(watch, clock, 7, 7, 7, 7, 7) == [[], [], [], [], ["a"]]


def test_each_key_has_a_rest_of_its_own(watch: Stillness[str], clock: Clock) -> None:
    watch.look({"a": 1, "b": 1})
    for beat in range(2, 6):
        clock.now_s += 2.0
        still = watch.look({"a": 1, "b": beat})
    assert still == ["a"]


def test_a_long_time_without_a_look_proves_little(watch: Stillness[str], clock: Clock) -> None:
    watch.look({"a": 1})
    clock.now_s += 3600.0
    assert watch.look({"a": 1}) == []
    clock.now_s += 3600.0
    assert watch.look({"a": 1}) == ["a"]  # two looks of at most 4 s each
