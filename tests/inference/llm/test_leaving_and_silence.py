"""Nobody listens any more; and no word of anybody leaves by a log or an error."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from inference.adapters.openai_llm import OpenAiAssessor
from inference.assessment import Answer, QuestionSpec
from inference.config import LlmConfig
from inference.ports import EngineUnavailable, ScorePiece
from tests.inference.llm.scripted_server import (
    LAST,
    Ending,
    Script,
    chunk,
    head,
    scripted_server,
    stream,
    tokens,
    whole,
)
from tests.inference.llm.support import (
    ENGLISH,
    GOOD,
    UNHURRIED_S,
    UP_TO_SCORE,
    UP_TO_WEAKNESS,
    as_json,
    assessor,
    by_rules,
    collect,
    left_soon,
    reply,
    result,
)


async def test_two_hundred_candidates_who_leave_midway_free_the_server() -> None:
    script = [head(), *tokens(UP_TO_SCORE), Ending.HANG]

    async def look_and_leave(llm: OpenAiAssessor) -> None:
        pieces = llm.assess(ENGLISH)
        assert isinstance(await anext(pieces), ScorePiece)
        await pieces.aclose()

    async with scripted_server(script) as server, assessor(server) as llm:
        for _ in range(10):
            await asyncio.gather(*(look_and_leave(llm) for _ in range(20)))
        await server.wait_until_idle(UNHURRIED_S)
    assert len(server.exchanges) == 200
    assert all(exchange.gone_at_s for exchange in server.exchanges)


@pytest.mark.parametrize("script", [[Ending.HANG], [head(), *tokens(UP_TO_WEAKNESS), Ending.HANG]])
async def test_a_cancelled_session_frees_the_server(script: Script) -> None:
    async with scripted_server(script) as server, assessor(server) as llm:
        session = asyncio.create_task(collect(llm))
        while not server.active:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        session.cancel()
        with pytest.raises(asyncio.CancelledError):
            await session
        assert await left_soon(server)


async def test_a_slow_reader_is_not_taken_for_a_slow_server() -> None:
    async with (
        scripted_server(stream(GOOD)) as server,
        assessor(server, between_tokens_s=1.0) as llm,
    ):
        pieces = llm.assess(ENGLISH)
        seen = [await anext(pieces)]
        await asyncio.sleep(1.5)
        seen += [piece async for piece in pieces]
    assert result(seen).score == 7.5


CANARY = "my grandmother Ottilie Zwirner taught me"
SPOKEN = Answer(QuestionSpec("Who taught you? Canary question.", "en"), f"{CANARY} to cache the catalogue.")


@pytest.mark.parametrize(
    "script",
    [
        whole("400 Bad Request", json.dumps({"error": {"message": CANARY}}).encode()),
        whole("500 Internal Server Error", CANARY.encode()),
        [head(), chunk(json.dumps({"error": {"message": CANARY}}).encode()), LAST],
        [head(), chunk(f'data: {{"error": {{"message": "{CANARY}"}}}}\n\n'.encode()), LAST],
        [head(), chunk(f"data: {CANARY}\n\n".encode()), LAST],
        stream(CANARY),
        stream(f'{{"score": "{CANARY}"}}'),
        stream(as_json(reply(weakness=f"{CANARY}\nbroken"))[:60]),
        stream(GOOD),
        [Ending.HANG],
    ],
)
async def test_no_word_of_answer_prompt_or_reply_reaches_logs_or_errors(
    script: Script, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    text = ""
    async with scripted_server(script) as server, assessor(server, server, first_token_s=0.3) as llm:
        try:
            await collect(llm, SPOKEN)
        except EngineUnavailable as failure:
            text = repr(failure) + str(failure)
            logging.getLogger("session").exception("judged by the rules")
    text += "".join(str(record.__dict__) for record in caplog.records) + caplog.text
    for secret in ("Ottilie", "Canary question", "neutral interviewer", "You say what you did"):
        assert secret not in text


async def test_without_a_server_there_is_no_assessor() -> None:
    with pytest.raises(ValueError, match="urls is empty"):
        OpenAiAssessor(LlmConfig(), by_rules)
