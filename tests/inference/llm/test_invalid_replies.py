"""Replies that are not what was asked for, or too much of it, over real HTTP: none becomes a score."""

from __future__ import annotations

import time

import pytest

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
    stream,
    tokens,
    whole,
)
from tests.inference.llm.support import (
    GOOD,
    SOON_S,
    UP_TO_SCORE,
    as_json,
    assessor,
    failure_of,
    left_soon,
    reason_of,
    reply,
)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("400 Bad Request", "http_4xx"),
        ("401 Unauthorized", "http_4xx"),
        ("404 Not Found", "http_4xx"),
        ("302 Found", "http_4xx"),
        ("500 Internal Server Error", "http_5xx"),
        ("503 Service Unavailable", "http_5xx"),
    ],
)
async def test_an_error_status_fails_at_once_even_if_its_body_never_ends(status: str, reason: str) -> None:
    script: Script = [
        head(status, "text/html", "Location: /elsewhere\r\n"),
        chunk(b"<h1>no</h1>"),
        Ending.HANG,
    ]
    started = time.monotonic()
    assert await reason_of(*script) == reason
    assert time.monotonic() - started < SOON_S


@pytest.mark.parametrize(
    "script",
    [
        whole("200 OK", b"<html><body>Welcome to nginx!</body></html>", "text/html"),
        whole("200 OK", b""),
        whole("200 OK", b'{"choices": [{"message": {"content": "{\\"score\\": 9}"}}]}'),
        [head(), LAST],
        [head(), DONE, LAST],
        [head(), chunk(b"data: {not json\n\n"), LAST],
        [head(), chunk(b"data: " + b"[" * 100_000 + b"\n\n"), LAST],
        [
            head(),
            chunk(b"data: 7\n\n"),
            chunk(b'data: {"choices": 3}\n\n'),
            chunk(b'data: {"choices": []}\n\n'),
            LAST,
        ],
        [head(), event({"content": 7}), event({"content": ["a"]}), LAST],
        [head(), chunk(b"data: \xff\xfe\n\n"), LAST],
        [head(extra="Content-Encoding: gzip\r\n"), chunk(b"\x1f\x8b"), Ending.HANG],
        stream("I would give this answer a 9 out of 10."),
        stream("<html><body>Welcome</body></html>"),
        stream("null"),
    ],
    ids=[
        "html",
        "empty body",
        "not a stream",
        "stream without events",
        "only done",
        "broken event",
        "nested event",
        "odd events",
        "odd contents",
        "not utf-8",
        "compressed",
        "prose",
        "html as content",
        "null",
    ],
)
async def test_what_is_no_reply_is_invalid(script: Script) -> None:
    assert await reason_of(*script) == "invalid"


def with_score(text: str) -> str:
    return GOOD.replace('"score": 7.5', f'"score": {text}')


def with_value(text: str) -> str:
    return GOOD.replace('"value": 8.1', f'"value": {text}')


NUMBERS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "7e0",
    "true",
    "null",
    '"7.5"',
    "10.1",
    "-0.5",
    "07",
    "7.",
    ".5",
]
NUMBERS += ["9" * 5_000, "7." + "5" * 5_000, "0x7", "[7.5]", '{"a":7}', "[" * 100_000, '{"a":' * 100_000, ""]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12] or "nothing")
async def test_only_a_plain_number_from_0_to_10_is_a_score(number: str) -> None:
    assert await reason_of(*stream(with_score(number)[:8_000])) == "invalid"


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:12] or "nothing")
async def test_a_bad_value_in_the_details_spoils_the_whole_reply(number: str) -> None:
    async with scripted_server(stream(with_value(number)[:8_000])) as server, assessor(server) as llm:
        failure, _, _ = await failure_of(llm)
    assert failure.reason == "invalid"


REORDERED = dict(sorted(reply().items()))


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 9.5, "score": 10, ' + GOOD[len('{"score": 7.5, ') :],
        as_json(REORDERED),
        GOOD.replace('"score"', '"grade"'),
        GOOD.replace("{", '{"reason": "x", ', 1),
        "[" + GOOD + "]",
        "",
        "{}",
        '{"score": 7.5}',
        GOOD.replace("{", "{{", 1),
        GOOD.replace('"weakness": "You', '"weakness": ["You'),
    ],
    ids=[
        "duplicate",
        "reordered",
        "renamed",
        "extra",
        "array",
        "nothing",
        "empty",
        "only a score",
        "braces",
        "a list",
    ],
)
async def test_a_reply_out_of_the_schema_shows_nothing(text: str) -> None:
    assert await reason_of(*stream(text)) == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace('"structure"', '"evidence"', 1),
        GOOD.replace('"quotes": [', '"quotes": [[', 1),
        GOOD.replace('"comment"', '"comment": "a", "comment"', 1),
        GOOD.replace("what you did", "what\nyou did"),
        GOOD.replace("what you did", "\\ud83d alone"),
        GOOD.replace("what you did", "\\ude42 alone"),
        GOOD.replace("what you did", "\\x41"),
        GOOD.replace('"comment": "This answers the question."', '"comment": ""'),
        GOOD.replace('["Our checkout', '["a", "b", "c", "d", "e", "f", "Our checkout'),
        as_json(reply(weakness="")),
        as_json(reply(weakness=" \u200b ")),
        as_json(reply(weakness="说了做法，没有说结果。")),
        as_json(reply(follow_up=None)),
    ],
    ids=[
        "dimension twice",
        "nested quotes",
        "comment twice",
        "raw line break",
        "half a character",
        "other half",
        "unknown escape",
        "empty comment",
        "seven quotes",
        "no weakness",
        "invisible weakness",
        "other language",
        "no follow-up",
    ],
)
async def test_an_error_later_in_the_reply_takes_it_back(text: str) -> None:
    async with scripted_server(stream(text)) as server, assessor(server) as llm:
        failure, _, _ = await failure_of(llm)
    assert failure.reason == "invalid"
    assert len(server.exchanges) == 1  # something was shown, so nobody else is asked


async def test_ten_megabytes_of_thoughts_are_cut_at_64_kib() -> None:
    flood: Script = [said("<think>"), *[said("pondering " * 100)] * 10_000]
    async with scripted_server([head(), *flood]) as server, assessor(server) as llm:
        failure, pieces, _ = await failure_of(llm)
        assert await left_soon(server)
    assert (failure.reason, pieces) == ("too_long", [])
    assert server.exchanges[0].sent_bytes < 6_000_000  # what the socket buffers of both sides took


async def test_a_line_without_end_is_cut() -> None:
    flood: Script = [head(), *[chunk(b"data: " + b"x" * 65_536)] * 200]
    assert await reason_of(*flood) == "too_long"


async def test_a_weakness_without_end_is_cut() -> None:
    text = UP_TO_SCORE + '"' + "on and on " * 1_000
    async with scripted_server(stream(text)) as server, assessor(server) as llm:
        failure, _, _ = await failure_of(llm)
    assert failure.reason == "too_long"


@pytest.mark.parametrize("at", ["{", '{"score":', '{"score": 7.5, "weakness": "You say'])
async def test_a_loop_of_blanks_is_cut_before_any_clock(at: str) -> None:
    script = [head(), *tokens(at), *[said("    ")] * 30, Ending.HANG]
    async with scripted_server(script) as server, assessor(server) as llm:
        failure, _, took_s = await failure_of(llm)
        assert await left_soon(server)
    assert failure.reason == "stalled"
    assert took_s < SOON_S
