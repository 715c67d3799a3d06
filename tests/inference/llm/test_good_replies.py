"""What a well-behaved model's stream becomes, over real HTTP."""

from __future__ import annotations

import itertools
import time

import pytest

from inference.adapters.openai_llm import OpenAiAssessor
from inference.assessment import DIMENSIONS
from inference.config import LlmConfig
from inference.ports import AssessmentDone, DetailPiece, DimensionPiece, ScorePiece, WeaknessPiece
from inference.schemas import REPLY_SCHEMA
from tests.inference.llm.scripted_server import (
    LAST,
    Ending,
    Script,
    event,
    head,
    said,
    scripted_server,
    stream,
)
from tests.inference.llm.support import (
    CHINESE,
    CHINESE_REPLY,
    ENGLISH,
    Observed,
    as_json,
    assessor,
    by_rules,
    collect,
    comments_of,
    opened,
    reply,
    result,
    score_of,
    weakness_of,
)


async def test_a_good_reply_becomes_the_whole_assessment() -> None:
    seen = Observed()
    async with scripted_server(stream(as_json(reply()))) as server, assessor(server, observe=seen) as llm:
        pieces = await collect(llm)
    whole = result(pieces)
    assert (whole.score, whole.grade, whole.source) == (7.5, "A", "llm")
    assert (whole.model, whole.prompt_version) == ("judge", "assess-en-1")
    assert whole.weakness == reply()["weakness"]
    assert whole.follow_up == reply()["follow_up"]
    assert [score.value for score in whole.dimensions] == [8.0, 7.0, 8.1, 7.0, 3.5]
    assert [score.comment for score in whole.dimensions] == [
        part["comment"] for part in reply()["dimensions"].values()
    ]
    assert whole.dimensions[2].quotes == ("Latency fell by 40%",)
    assert whole.dimensions[2].weight == 0.25
    assert whole.notes == ()
    assert set(seen.counts) == {"llm_first_token_s"}
    assert 0 < seen.values["llm_first_token_s"] < 2.5


async def test_what_the_rules_know_better_stays_theirs() -> None:
    rules = by_rules(ENGLISH)
    async with scripted_server(stream(as_json(reply()))) as server, assessor(server) as llm:
        whole = result(await collect(llm))
    assert (whole.star, whole.quantified, whole.relevance) == (rules.star, rules.quantified, rules.relevance)
    assert (whole.delivery, whole.flags, whole.kind) == (rules.delivery, rules.flags, rules.kind)


async def test_a_chinese_answer_is_judged_in_chinese() -> None:
    async with scripted_server(stream(as_json(CHINESE_REPLY))) as server, assessor(server) as llm:
        pieces = await collect(llm, CHINESE)
    whole = result(pieces)
    assert (whole.score, whole.prompt_version) == (7.8, "assess-zh-1")
    assert weakness_of(pieces) == whole.weakness == CHINESE_REPLY["weakness"]
    assert whole.follow_up == CHINESE_REPLY["follow_up"]
    assert whole.dimensions[4].quotes == ("我把商品目录放进了缓存，延迟下降了百分之四十",)
    system, user = (message["content"] for message in server.exchanges[0].body["messages"])
    assert "简体中文" in system
    assert CHINESE.text in user


async def test_pieces_come_in_the_order_score_weakness_details_done() -> None:
    async with scripted_server(stream(as_json(reply()))) as server, assessor(server) as llm:
        pieces = await collect(llm)
    kinds = [kind for kind, _ in itertools.groupby(type(piece) for piece in pieces)]
    assert kinds == [ScorePiece, WeaknessPiece, *[DimensionPiece, DetailPiece] * 5, AssessmentDone]
    assert [score.dimension for score in opened(pieces)] == list(DIMENSIONS)
    assert weakness_of(pieces) == reply()["weakness"]
    assert comments_of(pieces) == {name: part["comment"] for name, part in reply()["dimensions"].items()}


async def test_the_weakness_grows_piece_by_piece() -> None:
    async with scripted_server(stream(as_json(reply()))) as server, assessor(server) as llm:
        pieces = await collect(llm)
    assert sum(isinstance(piece, WeaknessPiece) for piece in pieces) > 5


async def test_the_score_is_shown_long_before_the_server_has_finished() -> None:
    script = stream(as_json(reply()), every_s=0.005)
    async with scripted_server(script) as server, assessor(server) as llm:
        shown_at: list[float] = []
        async for piece in llm.assess(ENGLISH):
            shown_at.append(time.monotonic())
            if isinstance(piece, ScorePiece):
                assert server.exchanges[0].finished_at_s is None
                assert server.exchanges[0].sent_bytes < 3_000
    assert shown_at[-1] - shown_at[0] > 0.5


async def test_the_score_does_not_wait_for_the_weakness() -> None:
    script: Script = [head(), said('{"score": 7.5, "weakness":'), Ending.HANG]
    async with scripted_server(script) as server, assessor(server) as llm:
        pieces = llm.assess(ENGLISH)
        assert await anext(pieces) == ScorePiece(7.5, "judge", "assess-en-1")
        await pieces.aclose()


async def test_the_request_asks_for_the_schema_in_order_and_reproducibly() -> None:
    async with scripted_server(stream(as_json(reply()))) as server, assessor(server) as llm:
        await collect(llm)
    exchange = server.exchanges[0]
    body = exchange.body
    assert exchange.path == "/v1/chat/completions"
    assert (body["model"], body["stream"], body["temperature"], body["max_tokens"]) == (
        "judge",
        True,
        0.0,
        512,
    )
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["strict"] is True
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema == REPLY_SCHEMA
    assert list(schema["properties"]) == ["score", "weakness", "dimensions", "follow_up"]
    assert list(schema["properties"]["dimensions"]["properties"]) == list(DIMENSIONS)
    assert set(body) == {"model", "stream", "temperature", "max_tokens", "response_format", "messages"}
    assert exchange.headers["accept-encoding"] == "identity"


async def test_a_server_is_named_with_or_without_v1() -> None:
    async with scripted_server(stream(as_json(reply()))) as server:
        for url in (server.url, server.url + "/", server.url.removesuffix("/v1")):
            async with assessor(url) as llm:
                await collect(llm)
    assert [exchange.path for exchange in server.exchanges] == ["/v1/chat/completions"] * 3


async def test_one_connection_serves_one_answer_after_another() -> None:
    async with scripted_server(stream(as_json(reply()))) as server, assessor(server) as llm:
        for _ in range(3):
            await collect(llm)
    assert len(server.exchanges) == 3
    assert server.connections == 1


@pytest.mark.parametrize(
    "text",
    [
        '<think>The candidate said {"score": 1}.</think>\n' + as_json(reply()),
        "The answer seems good, so 9 it is.</think>" + as_json(reply()),
        "```json\n" + as_json(reply()) + "\n```",
        "<think>Well.</think>\n\n```\n" + as_json(reply()),
        as_json(reply()) + '\n\nI hope that this helps! {"score": 1}',
        "\ufeff\n " + as_json(reply()),
    ],
    ids=[
        "thought",
        "thought without its opening",
        "fence",
        "thought and fence",
        "prose after",
        "byte order mark",
    ],
)
async def test_what_models_put_around_their_json_is_not_read(text: str) -> None:
    async with scripted_server(stream(text)) as server, assessor(server) as llm:
        pieces = await collect(llm)
    assert result(pieces).score == 7.5
    assert result(pieces).follow_up == reply()["follow_up"]
    assert "<think>" not in "".join([weakness_of(pieces), *comments_of(pieces).values()])


async def test_a_separate_thought_is_a_sign_of_life_and_never_shown() -> None:
    thoughts: Script = [event({"reasoning_content": "secret thought "}), 0.2] * 4
    script: Script = [head(), *thoughts, *stream(as_json(reply()))[2:]]
    async with (
        scripted_server(script) as server,
        assessor(server, first_token_s=0.5, between_tokens_s=0.5) as llm,
    ):
        pieces = await collect(llm)
    assert result(pieces).score == 7.5
    assert "secret" not in repr(pieces)


async def test_escapes_and_split_characters_arrive_whole() -> None:
    weakness = 'Say "how far", \\ and by when — 🙂.'
    text = as_json(reply(weakness=weakness)).replace("🙂", "\\ud83d\\ude42")
    script = [head(), *[said(char) for char in text], LAST]
    async with scripted_server(script) as server, assessor(server) as llm:
        pieces = await collect(llm)
    assert weakness_of(pieces) == result(pieces).weakness == weakness


@pytest.mark.parametrize(
    ("reported", "named"),
    [
        ("scripted-1", "scripted-1"),
        ("Qwen/Qwen2-7B", "Qwen/Qwen2-7B"),
        ("/srv/models/judge.gguf", "judge.gguf"),
    ],
)
async def test_without_a_model_in_the_settings_the_server_names_it(reported: str, named: str) -> None:
    script = [head(), event({"content": as_json(reply())}, model=reported), LAST]
    async with scripted_server(script) as server:
        llm = OpenAiAssessor(LlmConfig(urls=(server.url,)), by_rules)
        pieces = await collect(llm)
        await llm.aclose()
    assert result(pieces).model == named
    assert score_of(pieces) == 7.5
