"""The begin and the end of a server that is not ours reach the same receivers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.dispatch import Signal

from apps.ops.lifespan import lifespan
from apps.ops.signals import server_listening, server_stopping, tell_stopping


@contextmanager
def only(signal: Signal, receiver: Callable[..., Any]) -> Iterator[None]:
    others, signal.receivers = signal.receivers, []
    signal.connect(receiver, weak=False)
    try:
        yield
    finally:
        signal.receivers = others
        signal.sender_receivers_cache.clear()


def test_both_steps_are_told_and_the_end_waits_for_what_it_takes() -> None:
    steps: list[str] = []

    async def draining() -> None:
        await asyncio.sleep(0.01)
        steps.append("drained")

    async def send(message: dict[str, Any]) -> None:
        steps.append(message["type"])

    async def run() -> None:
        received: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        received.put_nowait({"type": "lifespan.startup"})
        received.put_nowait({"type": "lifespan.shutdown"})
        await lifespan({"type": "lifespan"}, received.get, send)

    with (
        only(server_listening, lambda **_: steps.append("listening")),
        only(server_stopping, lambda **_: draining()),
    ):
        asyncio.run(run())
    assert steps == ["listening", "lifespan.startup.complete", "drained", "lifespan.shutdown.complete"]


def test_a_step_that_fails_is_logged_and_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> None:
        raise OSError("disk")

    with only(server_stopping, lambda **_: failing()), caplog.at_level(logging.ERROR):
        asyncio.run(tell_stopping())
    assert "a step of stopping failed" in caplog.text


def test_a_step_that_takes_too_long_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    with only(server_stopping, lambda **_: asyncio.sleep(3600)), caplog.at_level(logging.WARNING):
        asyncio.run(tell_stopping(within_s=0.1))
    assert "they are cut" in caplog.text
