"""The doorbell between processes: it may hang, break or forget; live sockets notice no more than silence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from channels.layers import InMemoryChannelLayer

from apps.interviews.group import GROUP, ring, ring_all
from apps.live import group
from apps.live.registry import Registry
from tests.live.stack import WITHIN_S
from tests.live.test_presence import Socket

HEX = "0" * 32


class Layer(InMemoryChannelLayer):
    """Hangs or breaks as often as told when somebody joins."""

    def __init__(self, *faults: str) -> None:
        super().__init__()
        self.faults = list(faults)
        self.joins = 0

    async def group_add(self, group: str, channel: str) -> None:
        self.joins += 1
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "hangs":
            await asyncio.Event().wait()
        if fault == "breaks":
            raise ConnectionError(fault)
        await super().group_add(group, channel)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not true():
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WITHIN_S", "FIRST_WAIT_S", "LONGEST_WAIT_S"):
        monkeypatch.setattr(group, name, 0.02)


async def heard_through(layer: Layer, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Somebody listens; what is rung after `meanwhile` arrives."""
    monkeypatch.setattr(group, "get_channel_layer", lambda: layer)
    monkeypatch.setattr("apps.interviews.group.get_channel_layer", lambda: layer)
    heard: list[tuple[str, Mapping[str, Any]]] = []
    listening = asyncio.create_task(group.listen(lambda who, told: heard.append((who, told))))
    await until(lambda: GROUP in layer.groups)
    meanwhile()
    await until(lambda: GROUP in layer.groups)
    await ring(HEX, {"type": "interview.analysis"})
    await until(lambda: bool(heard))
    assert not listening.done()
    listening.cancel()
    assert heard == [(HEX, {"type": "interview.analysis"})]


async def test_a_layer_that_hangs_or_breaks_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Layer("hangs", "breaks", "hangs")
    await heard_through(layer, monkeypatch, lambda: None)
    assert layer.joins >= 4


async def test_a_layer_that_was_wiped_is_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "JOIN_AGAIN_S", 0.05)
    layer = Layer()
    await heard_through(layer, monkeypatch, layer.groups.clear)
    assert layer.joins >= 2


async def test_interviews_taken_over_at_once_are_told_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Layer()
    monkeypatch.setattr("apps.interviews.group.get_channel_layer", lambda: layer)
    await layer.group_add(GROUP, "process")
    taken = group.TakenOver()
    taken.note("a", 1)
    taken.note("b", 7)
    taken.note("a", 2)
    telling = asyncio.create_task(taken.tell())
    first = await asyncio.wait_for(layer.receive("process"), WITHIN_S)
    assert first["messages"] == {
        "a": {"type": "interview.superseded", "gen": 2},
        "b": {"type": "interview.superseded", "gen": 7},
    }
    taken.note("c", 3)
    second = await asyncio.wait_for(layer.receive("process"), WITHIN_S)
    assert list(second["messages"]) == ["c"]
    telling.cancel()


async def test_what_is_rung_reaches_the_socket_that_holds_the_interview_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer, here = Layer(), Registry()
    monkeypatch.setattr(group, "get_channel_layer", lambda: layer)
    monkeypatch.setattr("apps.interviews.group.get_channel_layer", lambda: layer)
    sockets = {name: Socket() for name in ("a", "b")}
    for name, socket in sockets.items():
        await here.enter(name, socket, 10)
    listening = asyncio.create_task(group.listen(here.heard))
    await until(lambda: GROUP in layer.groups)
    await ring_all({"b": {"type": "interview.analysis"}, "elsewhere": {"type": "interview.deleted"}})
    await until(lambda: bool(sockets["b"].messages))
    listening.cancel()
    assert sockets["b"].messages == [{"type": "interview.analysis"}]
    assert sockets["a"].messages == []


async def test_one_message_that_cannot_be_taken_keeps_nothing_from_other_interviews(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer, heard = Layer(), list[str]()
    monkeypatch.setattr(group, "get_channel_layer", lambda: layer)
    monkeypatch.setattr("apps.interviews.group.get_channel_layer", lambda: layer)

    def hear(who: str, told: Mapping[str, Any]) -> None:
        heard.append(who)
        if who == "a":
            raise KeyError("late_s")

    listening = asyncio.create_task(group.listen(hear))
    await until(lambda: GROUP in layer.groups)
    await ring_all({"a": {"type": "interview.corrected"}, "b": {"type": "interview.analysis"}})
    await until(lambda: heard == ["a", "b"])
    assert layer.joins == 1
    listening.cancel()
