"""Several speech servers and the local recogniser: who is asked, who is asked next, who comes back."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from inference.adapters.fakes import ScriptedRecognizer
from inference.adapters.recognizer_pool import RecognizerPool
from inference.bootstrap import build_engines, close_engines
from inference.config import LlmConfig, RecognizerConfig, RemoteAsrConfig
from inference.ports import EngineUnavailable, Priority, Speech, Transcript
from tests.inference.asr_server import WITHIN_S, after, pool, said, speech_server
from tests.inference.llm.scripted_server import Ending, Script, whole
from tests.inference.llm.support import unused_port
from tests.inference.spoken import clip

SPEECH = Speech(clip("short_no").pcm, "en")
LONGER = Speech(clip("off_topic").pcm, "en")
LOCAL = "No, said the local one."
BROKEN: Script = whole("500 Internal Server Error")
LOOP = said("I went to the lake. " * 6, words=None)
LAKE = "My whole family went to the lake last summer."
FINAL, EAGER, PARTIAL, ANALYSIS = Priority.FINAL, Priority.EAGER, Priority.PARTIAL, Priority.ANALYSIS


async def text(
    made: RecognizerPool,
    priority: Priority = FINAL,
    within_s: float | None = None,
    speech: Speech = SPEECH,
) -> str:
    speech = replace(speech, answer_within_s=within_s)
    async with asyncio.timeout(WITHIN_S):
        return (await made.transcribe(speech, priority)).text


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():
            await asyncio.sleep(0.01)


async def test_the_server_with_the_fewest_in_flight_is_asked() -> None:
    async with (
        speech_server([Ending.HANG], said("one")) as first,
        speech_server(said("two")) as second,
        pool(first, second) as made,
    ):
        hangs = asyncio.create_task(text(made))
        await until(lambda: first.active == 1)
        assert [await text(made) for _ in range(3)] == ["two"] * 3
        hangs.cancel()
        await until(lambda: first.active == 0)
        assert await text(made) == "one"


async def test_no_server_works_on_more_than_its_share_and_all_are_answered() -> None:
    script = after(0.05, said("yes"))
    async with (
        speech_server(script) as first,
        speech_server(script) as second,
        pool(first, second, at_once=2) as made,
    ):
        assert await asyncio.gather(*(text(made) for _ in range(12))) == ["yes"] * 12
    assert (first.at_most, second.at_most) == (2, 2)


async def test_who_waits_is_asked_for_by_priority() -> None:
    order: list[Priority] = []

    async def ask(priority: Priority) -> None:
        await text(made, priority)
        order.append(priority)

    async with speech_server(said("yes")) as server, pool(server, at_once=1) as made:
        server.gate.clear()
        running = asyncio.create_task(ask(ANALYSIS))
        await until(lambda: server.active == 1)
        waiting = [asyncio.create_task(ask(one)) for one in (ANALYSIS, PARTIAL, EAGER, FINAL)]
        await asyncio.sleep(0.01)
        server.gate.set()
        await asyncio.gather(running, *waiting)
    assert order == [ANALYSIS, FINAL, EAGER, PARTIAL, ANALYSIS]


async def test_who_is_hastened_goes_with_the_finals() -> None:
    order: list[str] = []

    async def ask(name: str, priority: Priority, speech: Speech) -> None:
        await made.transcribe(speech, priority)
        order.append(name)

    async with speech_server(said("yes")) as server, pool(server, at_once=1) as made:
        server.gate.clear()
        running = asyncio.create_task(ask("running", FINAL, SPEECH))
        await until(lambda: server.active == 1)
        mine = replace(SPEECH)
        waiting = [
            asyncio.create_task(ask("first", EAGER, SPEECH)),
            asyncio.create_task(ask("mine", EAGER, mine)),
        ]
        await asyncio.sleep(0.01)
        made.hasten(mine)
        server.gate.set()
        await asyncio.gather(running, *waiting)
    assert order == ["running", "mine", "first"]


async def test_also_in_the_line_of_the_local_one() -> None:
    class Local(ScriptedRecognizer):
        busy = True

        def __init__(self) -> None:
            super().__init__(LOCAL)
            self.may_answer = asyncio.Event()
            self.given: list[Speech] = []
            self.hastened: list[Speech] = []

        async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
            self.given.append(speech)
            await self.may_answer.wait()
            return await super().transcribe(speech, priority)

        def hasten(self, speech: Speech) -> None:
            self.hastened.append(speech)

    local = Local()
    async with speech_server(BROKEN) as server, pool(server, local=local) as made:
        assert not made.busy
        mine = replace(SPEECH, answer_within_s=WITHIN_S)
        asked = asyncio.create_task(made.transcribe(mine, EAGER))
        await until(lambda: bool(local.given))
        made.hasten(mine)
        made.hasten(replace(mine))
        local.may_answer.set()
        await asked
        assert made.busy  # no server is well: the local one tells
    assert [id(one) for one in local.hastened] == [id(one) for one in local.given]


async def test_a_pool_without_a_free_place_has_no_time_for_guesses() -> None:
    async with speech_server([Ending.HANG]) as server, pool(server, at_once=1) as made:
        assert not made.busy
        hangs = asyncio.create_task(text(made))
        await until(lambda: server.active == 1)
        assert made.busy
        hangs.cancel()
        await until(lambda: not made.busy)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (BROKEN, "http_5xx"),
        (whole("200 OK", b"<html>"), "invalid"),
        (whole("403 Forbidden"), "refused"),
        ([Ending.CUT], "broken_off"),
    ],
)
async def test_what_a_server_fails_at_is_asked_of_the_next_and_it_is_left_alone(
    script: Script, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    counts = Counter[str]()
    async with (
        speech_server(script) as bad,
        speech_server(said("yes")) as good,
        pool(bad, good, counts=counts) as made,
    ):
        assert [await text(made) for _ in range(3)] == ["yes"] * 3
    assert len(bad.asked) == 1
    assert counts[f"asr_server_failed:{reason}"] == 1
    assert (counts["fallback:asr_server"], counts["fallback:asr_next"]) == (1, 1)
    assert f"speech server 1 is out ({reason})" in caplog.text


async def test_the_local_recogniser_hears_while_no_server_is_well() -> None:
    counts = Counter[str]()
    local = ScriptedRecognizer(LOCAL)
    async with speech_server(BROKEN) as server, pool(server, local=local, counts=counts) as made:
        assert [await text(made) for _ in range(3)] == [LOCAL] * 3
        assert await text(made, PARTIAL) == "No, said the"
    assert len(server.asked) == 1
    assert counts["fallback:asr_local"] == 4


async def test_with_nobody_left_the_caller_is_told_at_once() -> None:
    with unused_port() as port:
        async with pool(f"http://127.0.0.1:{port}") as made:
            for _ in range(2):
                with pytest.raises(EngineUnavailable):
                    await text(made)


async def test_a_sick_server_is_probed_and_comes_back() -> None:
    local = ScriptedRecognizer(LOCAL)
    async with (
        speech_server(BROKEN, said("back"), probe=BROKEN) as server,
        pool(server, local=local, first_rest_s=0.05, last_rest_s=0.1) as made,
    ):
        assert await text(made) == LOCAL
        await until(lambda: server.probes >= 2)  # nobody's answer is the probe
        assert len(server.asked) == 1
        server.probe = said("")
        await until(lambda: server.probes >= 3)
        async with asyncio.timeout(WITHIN_S):
            while await text(made) == LOCAL:
                await asyncio.sleep(0.02)
        assert await text(made) == "back"


async def test_a_server_that_was_gone_at_the_start_is_used_when_it_is_there(unused_tcp_port: int) -> None:
    url = f"http://127.0.0.1:{unused_tcp_port}"
    local = ScriptedRecognizer(LOCAL)
    async with pool(url, local=local, first_rest_s=0.05, last_rest_s=0.1) as made:
        await made.start()
        assert await text(made) == LOCAL
        async with speech_server(said("there"), port=unused_tcp_port) as server:
            await until(lambda: server.probes > 0)
            async with asyncio.timeout(WITHIN_S):
                while await text(made) == LOCAL:
                    await asyncio.sleep(0.02)


async def test_a_final_that_is_not_answered_in_time_is_asked_of_the_next_as_well() -> None:
    counts = Counter[str]()
    async with (
        speech_server([Ending.HANG]) as slow,
        speech_server(said("in time")) as quick,
        pool(slow, quick, counts=counts) as made,
    ):
        assert await text(made, within_s=0.5) == "in time"
        await until(lambda: slow.active == 0)  # the loser is let go
    assert counts["fallback:asr_slow"] == 1


async def test_or_of_the_local_one_with_the_time_that_is_left() -> None:
    left: list[float | None] = []

    class Local(ScriptedRecognizer):
        async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
            left.append(speech.answer_within_s)
            return await super().transcribe(speech, priority)

    async with speech_server([Ending.HANG]) as slow, pool(slow, local=Local(LOCAL)) as made:
        assert await text(made, within_s=0.5) == LOCAL
    assert left[0] is not None
    assert 0 <= left[0] < 0.5


async def test_waiting_in_line_is_within_the_callers_time_too() -> None:
    async with (
        speech_server([Ending.HANG]) as full,
        pool(full, local=ScriptedRecognizer(LOCAL), at_once=1) as made,
    ):
        hangs = asyncio.create_task(text(made))
        await until(lambda: full.active == 1)
        assert await text(made, within_s=0.3) == LOCAL
        hangs.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hangs


async def test_the_slow_one_may_still_answer_first() -> None:
    local = ScriptedRecognizer(LOCAL, delay_s=WITHIN_S)
    async with speech_server(after(0.5, said("late, but first"))) as slow, pool(slow, local=local) as made:
        assert await text(made, within_s=0.1) == "late, but first"


async def test_who_is_late_again_and_again_is_left_alone() -> None:
    counts = Counter[str]()
    local = ScriptedRecognizer(LOCAL)
    async with speech_server([Ending.HANG]) as slow, pool(slow, local=local, counts=counts) as made:
        for _ in range(5):
            assert await text(made, within_s=0.1) == LOCAL
    assert (counts["fallback:asr_slow"], counts["fallback:asr_server"]) == (3, 1)


async def test_a_guess_is_not_worth_a_second_server() -> None:
    async with speech_server(BROKEN) as bad, speech_server(said("yes")) as good, pool(bad, good) as made:
        with pytest.raises(EngineUnavailable):
            await text(made, PARTIAL)
        assert await text(made, PARTIAL) == "yes"
    assert len(good.asked) == 1


async def test_a_busy_server_gets_its_rest_and_is_not_sick() -> None:
    counts = Counter[str]()
    busy = whole("429 Too Many Requests", extra="Retry-After: 1\r\n")
    async with speech_server(busy, said("yes")) as server, pool(server, counts=counts) as made:
        assert await text(made) == "yes"  # waits in line for it: nobody else is there
    assert counts["fallback:asr_server"] == 0
    assert server.probes == 0


async def test_while_a_server_is_busy_the_local_one_hears() -> None:
    busy = whole("429 Too Many Requests", extra="Retry-After: 30\r\n")
    async with speech_server(busy) as server, pool(server, local=ScriptedRecognizer(LOCAL)) as made:
        assert [await text(made), await text(made)] == [LOCAL, LOCAL]
    assert len(server.asked) == 1


async def test_audio_that_a_server_rejects_is_asked_of_the_next_and_it_stays_in_use() -> None:
    rejects = [whole("400 Bad Request")] * 3
    async with (
        speech_server(*rejects, said("again")) as picky,
        speech_server(said("yes")) as good,
        pool(picky, good) as made,
    ):
        assert [await text(made), await text(made)] == ["yes", "again"]


async def test_a_doubted_reading_is_tried_elsewhere_and_the_better_one_is_given() -> None:
    counts = Counter[str]()
    async with speech_server(LOOP) as loops, speech_server(said(LAKE)) as good:
        async with pool(loops, good, counts=counts) as made:
            assert "whole family" in await text(made, within_s=WITHIN_S, speech=LONGER)
            assert counts["fallback:asr_doubted"] == 1
        async with pool(loops) as made:
            alone = await made.transcribe(LONGER, FINAL)
    assert (alone.low_confidence, alone.untried) == (True, True)


async def test_a_doubted_reading_goes_out_when_the_time_is_short() -> None:
    local = ScriptedRecognizer(LOCAL, delay_s=WITHIN_S)
    async with speech_server(LOOP) as loops, pool(loops, local=local) as made:
        assert "lake" in await text(made, within_s=0.5, speech=LONGER)


async def test_whoever_is_confused_leaves_nobody_waiting() -> None:
    class Confused(ScriptedRecognizer):
        async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
            raise ZeroDivisionError("canary")

    async with speech_server(BROKEN) as server, pool(server, local=Confused("x")) as made:
        with pytest.raises(EngineUnavailable, match="ZeroDivisionError"):
            await text(made)


async def test_starting_waits_for_the_local_model_only_without_a_server() -> None:
    class Loading(ScriptedRecognizer):
        loaded = asyncio.Event()

        async def start(self) -> None:
            await self.loaded.wait()

    async with speech_server(said("yes")) as server, pool(server, local=Loading(LOCAL)) as made:
        async with asyncio.timeout(WITHIN_S):
            await made.start()
        assert await text(made) == "yes"
    with unused_port() as port:
        async with pool(f"http://127.0.0.1:{port}", local=Loading(LOCAL)) as made:
            starting = asyncio.create_task(made.start())
            await asyncio.sleep(0.1)
            assert not starting.done()
            Loading.loaded.set()
            await starting


async def test_with_neither_server_nor_model_the_start_says_so() -> None:
    with unused_port() as port:
        async with pool(f"http://127.0.0.1:{port}") as made:
            with pytest.raises(EngineUnavailable, match="no speech server answers"):
                await made.start()


async def test_the_engines_of_a_process_hear_through_its_servers() -> None:
    async with speech_server(said("yes")) as server:
        remote = RemoteAsrConfig((server.url,))
        engines = build_engines(RecognizerConfig(None, remote=remote), LlmConfig())
        assert isinstance(engines.recognizer, RecognizerPool)
        assert await text(engines.recognizer) == "yes"
        await close_engines(engines)


async def test_no_word_address_or_key_reaches_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="inference")
    bad = whole("200 OK", json.dumps({"texts": "canaryword"}).encode())
    looping = said("canaryword lake " * 12, words=None)
    async with speech_server(bad) as first, speech_server(looping) as second:
        async with pool(first, second, local=ScriptedRecognizer(LOCAL), api_key="canarykey") as made:
            assert await text(made, speech=LONGER) == LOCAL
        assert "asked of another" in caplog.text
        for told in ("canary", str(first.port), str(second.port)):
            assert told not in "".join(record.getMessage() for record in caplog.records)
