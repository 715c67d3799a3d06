"""A server that stops sends every page away to come back, and what they sent is kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.interviews.models import Turn
from apps.live import process
from apps.live.close_codes import CloseCode, Refused
from apps.live.engines import EngineRoom
from apps.live.registry import Registry
from apps.live.spool_sync import SpoolSync
from inference.audio import SAMPLE_RATE
from inference.ports import Engines
from tests.live.stack import ANSWER, ROOT, Page, Person, Server
from tests.live.test_presence import Socket, until
from tests.live.wire import silence, speech

SAID = speech(1.5) + silence(0.5)


@pytest.fixture(scope="module")
def restarting(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("var"), database, ANSWER).start()
    yield running
    running.stop()


def test_pages_are_told_to_come_back_and_go_on_where_they_were(restarting: Server) -> None:
    speaking, waiting = Person(questions=1), Person(questions=1)
    with (
        Page(restarting, speaking) as one,
        Page(restarting, waiting) as two,
        Page(restarting, waiting) as mute,
    ):
        first = one.hello()
        one.until("answer.opened")
        one.stream(SAID)
        one.acked(9)
        two.hello()
        restarting.stop()
        for page in (one, two, mute):  # also one that has not said hello
            assert page.close_code() == 1012
            assert page.messages[-1] == {"type": "drain", "spread_ms": 5_000}
    restarting.start()
    with Page(restarting, speaking) as page:
        welcome = page.hello(resume=first["resume_token"], answer=1, epoch=first["epoch"])
        assert welcome["epoch"] == first["epoch"]
        assert welcome["next"] >= 10  # all that was acknowledged
        page.stream(SAID[welcome["next"] * 3_200 :])
        page.end(SAID)
        assert page.until("committed")["sha256"] == hashlib.sha256(SAID).hexdigest()
    assert Turn.objects.get(interview=speaking.interview).status == "answered"


def test_a_rehearsal_comes_back_to_a_server_that_restarts(restarting: Server, tmp_path: Path) -> None:
    recording = tmp_path / "said.wav"
    with wave.open(str(recording), "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(SAMPLE_RATE)
        wav.writeframes(speech(6.0) + silence(1.0))
    command = [sys.executable, "manage.py", "rehearse", str(recording), "--json"]
    with subprocess.Popen(
        [*command, "--url", f"ws://127.0.0.1:{restarting.port}"],
        cwd=ROOT,
        env=restarting._environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as rehearsing:
        assert rehearsing.stdout is not None
        types = [json.loads(rehearsing.stdout.readline())["type"]]
        while types[-1] != "speech.started":
            types.append(json.loads(rehearsing.stdout.readline())["type"])
        restarting.stop()
        restarting.start()
        *events, summary = [json.loads(line) for line in rehearsing.stdout]
    assert rehearsing.returncode == 0
    assert (summary["turns"], summary["transcript"]) == (1, ANSWER)
    assert [event["type"] for event in events].count("turn.ended") == 1


async def test_nobody_comes_in_once_the_door_is_closed() -> None:
    sockets, inside = Registry(), Socket()
    sockets.arrive(inside, limit=9)
    draining = asyncio.create_task(sockets.drain())
    await until(lambda: bool(inside.ended))
    late = Socket()
    with pytest.raises(Refused) as refused:
        sockets.arrive(late, limit=9)
    assert refused.value.code == CloseCode.RESTART
    with pytest.raises(Refused):
        await sockets.enter("an interview", inside, limit=9)
    assert not draining.done()  # it waits for those inside
    inside.gone.set()
    await draining
    assert inside.ended == [CloseCode.RESTART]


async def test_a_socket_that_does_not_leave_holds_the_stop_up_only_so_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sockets, stuck = Registry(), Socket()
    sockets.arrive(stuck, limit=9)
    sync = SpoolSync()
    monkeypatch.setattr(process, "live_sockets", sockets)
    monkeypatch.setattr(process, "spool_sync", sync)
    monkeypatch.setattr(process, "process_engines", EngineRoom(lambda: Engines(None, None, None)))
    monkeypatch.setattr(process, "LEAVE_WITHIN_S", 0.05)
    process.begin()
    async with asyncio.timeout(60):
        await process.stop()
    assert "did not leave" in caplog.text
