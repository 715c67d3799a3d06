"""When another server, or the same one, is asked again."""

from __future__ import annotations

import pytest

from inference.adapters.llm_stream import LlmBusy
from inference.ports import EngineBusy
from tests.inference.llm.scripted_server import (
    Ending,
    Script,
    head,
    scripted_server,
    stream,
    tokens,
    whole,
)
from tests.inference.llm.support import (
    GOOD,
    SOON_S,
    UP_TO_SCORE,
    Observed,
    assessor,
    collect,
    failure_of,
    result,
    unused_port,
)


async def test_a_full_server_is_busy_and_not_at_fault() -> None:
    async with scripted_server(whole("429 Too Many Requests")) as server, assessor(server) as llm:
        failure, _, took_s = await failure_of(llm)
    assert isinstance(failure, EngineBusy)
    assert isinstance(failure, LlmBusy)
    assert failure.reason == "rate_limited"
    assert not failure.engine_at_fault
    assert len(server.exchanges) == 1
    assert took_s < SOON_S


async def test_a_full_server_is_asked_again_after_the_time_it_names() -> None:
    full = whole("429 Too Many Requests", extra="Retry-After: 1\r\n")
    async with scripted_server(full, stream(GOOD)) as server, assessor(server) as llm:
        assert result(await collect(llm)).score == 7.5
    first, second = server.exchanges
    assert 1.0 <= second.at_s - first.at_s < SOON_S


@pytest.mark.parametrize("after", ["4", "86400", "Fri, 31 Dec 2027 23:59:59 GMT", "-1", "١", "9" * 400])
async def test_a_full_server_is_not_waited_for_beyond_the_budget(after: str) -> None:
    full = whole("429 Too Many Requests", extra=f"Retry-After: {after}\r\n")
    async with scripted_server(full) as server, assessor(server, total_s=5) as llm:
        failure, _, took_s = await failure_of(llm)
    assert failure.reason == "rate_limited"
    assert len(server.exchanges) == 1
    assert took_s < 4.0  # the shortest of these times


async def test_an_invalid_reply_gets_one_more_try_that_is_not_the_same() -> None:
    async with scripted_server(stream("null"), stream(GOOD)) as server, assessor(server) as llm:
        assert result(await collect(llm)).score == 7.5
    assert [exchange.body["temperature"] for exchange in server.exchanges] == [0.0, 0.3]


async def test_an_invalid_reply_gets_no_more_than_one_more_try() -> None:
    seen = Observed()
    async with scripted_server(stream("null")) as server, assessor(server, observe=seen) as llm:
        failure, _, _ = await failure_of(llm)
    assert failure.reason == "invalid"
    assert len(server.exchanges) == seen.counts["llm_failed:invalid"] == 2


async def test_without_two_fifths_of_the_time_left_there_is_no_second_try() -> None:
    late = [2.0, *whole("200 OK", b"<html>", "text/html")]
    async with scripted_server(late) as server, assessor(server, total_s=3.0) as llm:
        failure, _, _ = await failure_of(llm)
    assert failure.reason == "invalid"
    assert len(server.exchanges) == 1


@pytest.mark.parametrize(
    "script",
    [
        whole("500 Internal Server Error"),
        whole("429 Too Many Requests"),
        whole("404 Not Found"),
        [Ending.HANG],
        stream("no"),
    ],
    ids=["error", "full", "no such model", "silent", "prose"],
)
async def test_the_second_server_answers_when_the_first_does_not(script: Script) -> None:
    seen = Observed()
    async with (
        scripted_server(script) as first,
        scripted_server(stream(GOOD)) as second,
        assessor(first, second, observe=seen, first_token_s=1.5) as llm,
    ):
        assert result(await collect(llm)).score == 7.5
    assert (len(first.exchanges), len(second.exchanges)) == (1, 1)
    assert sum(count for name, count in seen.counts.items() if name.startswith("llm_failed:")) == 1


async def test_a_refused_first_server_costs_no_time() -> None:
    with unused_port() as port:
        async with (
            scripted_server(stream(GOOD)) as second,
            assessor(f"http://127.0.0.1:{port}/v1", second) as llm,
        ):
            assert result(await collect(llm)).score == 7.5


async def test_after_the_first_piece_no_other_server_is_asked() -> None:
    script = [head(), *tokens(UP_TO_SCORE + '"You'), Ending.CUT]
    async with (
        scripted_server(script) as first,
        scripted_server(stream(GOOD)) as second,
        assessor(first, second) as llm,
    ):
        failure, _, _ = await failure_of(llm)
    assert failure.reason == "broken_off"
    assert second.exchanges == []


async def test_all_servers_together_have_one_budget() -> None:
    seen = Observed()
    async with (
        scripted_server([Ending.HANG]) as first,
        scripted_server([Ending.HANG]) as second,
        scripted_server([Ending.HANG]) as third,
        assessor(first, second, third, observe=seen, first_token_s=1.0, total_s=1.8) as llm,
    ):
        failure, _, took_s = await failure_of(llm)
    assert failure.reason == "total"
    assert (len(first.exchanges), len(second.exchanges), len(third.exchanges)) == (1, 1, 0)
    assert seen.counts == {"llm_failed:first_token": 1, "llm_failed:total": 1}
    assert took_s < SOON_S
