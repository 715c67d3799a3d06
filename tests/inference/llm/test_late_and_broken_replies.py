"""Servers that are away, late or break off. Deadlines are scaled down, the defaults tested once."""

from __future__ import annotations

import asyncio

import pytest

from inference.adapters.openai_llm import OpenAiAssessor
from inference.config import LlmConfig
from inference.ports import ScorePiece
from tests.inference.llm.scripted_server import (
    DONE,
    LAST,
    Ending,
    Script,
    chunk,
    event,
    head,
    said,
    scripted_server,
    tokens,
)
from tests.inference.llm.support import (
    GOOD,
    SOON_S,
    UP_TO_SCORE,
    UP_TO_WEAKNESS,
    Observed,
    assessor,
    by_rules,
    collect,
    deaf_port,
    failure_of,
    left_soon,
    reason_of,
    reply,
    result,
    unused_port,
)


async def test_a_refused_connection_fails_at_once() -> None:
    seen = Observed()
    with unused_port() as port:
        async with assessor(f"http://127.0.0.1:{port}/v1", observe=seen) as llm:
            failure, pieces, took_s = await failure_of(llm)
    assert (failure.reason, pieces) == ("connect", [])
    assert seen.counts == {"llm_failed:connect": 1}
    assert failure.engine_at_fault
    assert took_s < SOON_S


async def test_a_connection_that_is_never_accepted_is_given_up_after_the_connect_time() -> None:
    with deaf_port() as port:
        async with assessor(f"http://127.0.0.1:{port}/v1", connect_s=0.3) as llm:
            failure, _, took_s = await failure_of(llm)
    assert failure.reason == "connect"
    assert 0.3 <= took_s < SOON_S


@pytest.mark.parametrize(
    "script",
    [
        [Ending.HANG],
        [head(), Ending.HANG],
        [head(), event({"role": "assistant", "content": ""}), *[chunk(b": keep-alive\n\n"), 0.1] * 300],
        [head(), *[event({"content": ""}), 0.1] * 300],
    ],
    ids=["no answer", "only a head", "comments", "empty deltas"],
)
async def test_without_a_first_token_in_time_the_server_is_left(script: Script) -> None:
    async with scripted_server(script) as server, assessor(server, first_token_s=0.4) as llm:
        failure, pieces, took_s = await failure_of(llm)
        assert await left_soon(server)
    assert (failure.reason, pieces) == ("first_token", [])
    assert 0.4 <= took_s < SOON_S


async def test_a_stream_that_stops_between_two_tokens_is_left() -> None:
    script = [head(), *tokens(UP_TO_WEAKNESS), Ending.HANG]
    async with scripted_server(script) as server, assessor(server, between_tokens_s=1.0) as llm:
        failure, pieces, took_s = await failure_of(llm)
        assert await left_soon(server)
    assert failure.reason == "stalled"
    assert isinstance(pieces[0], ScorePiece)
    assert 1.0 <= took_s < SOON_S


async def test_keep_alive_comments_do_not_hide_a_stall() -> None:
    pings: list[bytes | float] = [chunk(b": ping\n\n"), 0.1]
    assert await reason_of(head(), said('{"sco'), *pings * 300, between_tokens_s=0.3) == "stalled"


async def test_a_slow_drip_ends_at_the_total_and_its_part_is_never_a_score() -> None:
    drip: Script = [head(), *tokens('{"score": 7.5' + "0" * 400, every_s=0.35)]
    async with (
        scripted_server(drip) as server,
        assessor(server, total_s=1.0) as llm,
    ):
        failure, pieces, took_s = await failure_of(llm)
        assert await left_soon(server)
    assert (failure.reason, pieces) == ("total", [])
    assert 1.0 <= took_s < SOON_S


async def test_a_drip_within_one_token_is_also_bound_by_the_total() -> None:
    """httpx's own timeouts start again with every byte."""
    drip: Script = [step for byte in said("{") * 3 for step in (bytes([byte]), 0.03)]
    assert await reason_of(head(), *drip, first_token_s=5, total_s=0.8) == "total"


async def test_the_defaults_are_two_and_a_half_seconds_to_the_first_token_and_five_in_all() -> None:
    async def left_after(script: Script) -> tuple[str, float]:
        async with scripted_server(script) as server:
            llm = OpenAiAssessor(LlmConfig(urls=(server.url,)), by_rules)
            failure, _, took_s = await failure_of(llm)
            await llm.aclose()
        return failure.reason, took_s

    drip = [head(), *[step for letter in '{"score":7.5' for step in (said(letter), 0.5)]]
    (first, first_s), (total, total_s) = await asyncio.gather(left_after([Ending.HANG]), left_after(drip))
    assert (first, total) == ("first_token", "total")
    assert 2.5 <= first_s < 2.5 + SOON_S
    assert 5.0 <= total_s < 5.0 + SOON_S


ENDINGS: list[Script] = [
    [Ending.CUT],
    [Ending.RESET],
    [LAST],
    [DONE, LAST],
    [event({}, "length"), DONE, LAST],
]


@pytest.mark.parametrize("ending", ENDINGS, ids=["cut", "reset", "no done", "done", "token limit"])
async def test_a_reply_that_breaks_off_before_its_weakness_is_closed_fails(ending: Script) -> None:
    seen = Observed()
    script = [head(), *tokens(UP_TO_SCORE + '"You say what'), *ending]
    async with scripted_server(script) as server, assessor(server, observe=seen) as llm:
        failure, pieces, _ = await failure_of(llm)
    assert failure.reason == "broken_off"
    assert pieces[0] == ScorePiece(7.5, "judge", "assess-en-1")  # for the session to take back
    assert seen.counts["llm_failed:broken_off"] == 1
    assert len(server.exchanges) == 1


@pytest.mark.parametrize("ending", ENDINGS, ids=["cut", "reset", "no done", "done", "token limit"])
async def test_a_reply_that_breaks_off_after_its_weakness_is_completed_by_the_rules(ending: Script) -> None:
    seen = Observed()
    cut = GOOD[: GOOD.index("I had to fix it")]  # within the second dimension
    script = [head(), *tokens(cut), 0.05, *ending]
    async with scripted_server(script) as server, assessor(server, observe=seen) as llm:
        judged = result(await collect(llm))
    assert (judged.score, judged.source, judged.weakness) == (7.5, "llm", reply()["weakness"])
    assert judged.dimensions[0].comment == "This answers the question."
    assert [score.comment for score in judged.dimensions[1:]] == [
        "rules: structure",
        "rules: evidence",
        "rules: ownership",
        "rules: clarity",
    ]
    assert judged.follow_up == "rules: follow-up?"
    assert "incomplete" in judged.notes
    assert seen.counts["llm_incomplete"] == 1


async def test_an_error_inside_the_stream_breaks_it_off() -> None:
    error = chunk(b'data: {"error": {"message": "engine died", "code": 500}}\n\n')
    assert await reason_of(head(), said('{"sco'), error, LAST) == "broken_off"


async def test_a_connection_lost_before_the_head_is_broken_off() -> None:
    assert await reason_of(Ending.CUT) == "broken_off"
