"""Answers, a small judge by rules and replies that the tests of the LLM assessor share."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from inference.adapters.llm_stream import LlmUnavailable
from inference.adapters.openai_llm import OpenAiAssessor
from inference.assessment import (
    DIMENSIONS,
    STAR_NAMES,
    Answer,
    Assessment,
    Delivery,
    DimensionScore,
    QuestionSpec,
    StarPart,
)
from inference.config import LlmConfig
from inference.ports import (
    AssessmentDone,
    AssessmentPiece,
    DetailPiece,
    DimensionPiece,
    ScorePiece,
    WeaknessPiece,
)
from tests.inference.llm.scripted_server import Ending, ScriptedServer, scripted_server

ENGLISH = Answer(
    QuestionSpec("Tell me about a time you solved a hard technical problem.", "en"),
    "Our checkout timed out on sale days and I had to fix it. I cached the catalogue. Latency fell by 40%.",
)
CHINESE = Answer(
    QuestionSpec("请讲一次你解决技术难题的经历。", "zh"),
    "促销日结算经常超时，由我负责修复。我把商品目录放进了缓存，延迟下降了百分之四十。",
)
# Where a test gives no limit, a wait lasts this long, so less than SOON_S proves that nobody waited for it. A
# busy machine is far from either.
UNHURRIED_S = 30.0
SOON_S = 10.0
WEIGHTS = dict(zip(DIMENSIONS, (0.25, 0.25, 0.25, 0.15, 0.10), strict=True))


def by_rules(answer: Answer, score: float | None = 7.0, caps: tuple[str, ...] = ()) -> Assessment:
    """A reading as the rule engine would give it, with texts that no model writes."""
    quote = answer.text[:12]
    return Assessment(
        score=score,
        weakness="rules: weakness",
        dimensions=tuple(
            DimensionScore(name, 6.0, weight, (quote,), f"rules: {name}") for name, weight in WEIGHTS.items()
        ),
        star={name: StarPart(present=name == "action") for name in STAR_NAMES},
        quantified=("40%",),
        relevance=0.8,
        delivery=Delivery(fillers=2),
        follow_up="rules: follow-up?",
        kind="behavioural",
        source="rules",
        flags=("low_confidence",),
        caps=caps,
        weakest="evidence",
    )


def dimension(value: object, quotes: list[str], comment: str) -> dict[str, Any]:
    return {"value": value, "quotes": quotes, "comment": comment}


def reply(**changes: object) -> dict[str, Any]:
    """A good reply to ENGLISH, in the schema's order."""
    good: dict[str, Any] = {
        "score": 7.5,
        "weakness": "You say what you did, but not what your own task was.",
        "dimensions": {
            "relevance": dimension(
                8.0, ["Our checkout timed out on sale days"], "This answers the question."
            ),
            "structure": dimension(7, ["I had to fix it", "I cached the catalogue"], "The task is thin."),
            "evidence": dimension(8.1, ["Latency fell by 40%"], "One number that can be checked."),
            "ownership": dimension(7.0, ["I cached the catalogue"], "Your own part is clear."),
            "clarity": dimension(3.5, [], "Short and plain."),
        },
        "follow_up": "Which part of the fix did you decide yourself?",
    }
    return good | changes


CHINESE_REPLY: dict[str, Any] = {
    "score": 7.8,
    "weakness": "说了做法和结果，但没有说明为什么选择缓存。",
    "dimensions": {
        "relevance": dimension(8.0, ["促销日结算经常超时"], "切题。"),
        "structure": dimension(7.5, ["由我负责修复", "延迟下降了百分之四十"], "结构完整。"),
        "evidence": dimension(8.0, ["延迟下降了百分之四十"], "有数字。"),
        "ownership": dimension(7.0, ["我把商品目录放进了缓存"], "担当清楚。"),
        "clarity": dimension(7.5, ["我把商品目录放进了缓存，延迟下降了百分之四十"], "简洁。"),
    },
    "follow_up": "你当时为什么选择缓存，而不是优化查询？",
}


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


GOOD = as_json(reply())
UP_TO_SCORE = '{"score": 7.5, "weakness": '
UP_TO_WEAKNESS = GOOD[: GOOD.index('"dimensions"')]


@dataclass(slots=True)
class Observed:
    """What the assessor reported."""

    counts: Counter[str] = field(default_factory=Counter)
    values: dict[str, float] = field(default_factory=dict)

    def __call__(self, name: str, value: float) -> None:
        self.counts[name] += 1
        self.values[name] = self.values.get(name, 0.0) + value


Bound = Callable[[Answer], Assessment]


@asynccontextmanager
async def assessor(
    *servers: ScriptedServer | str,
    observe: Observed | None = None,
    bound: Bound = by_rules,
    **limits: float,
) -> AsyncIterator[OpenAiAssessor]:
    """An assessor over these servers, in no hurry except where limits are given."""
    unhurried = {
        "connect_s": UNHURRIED_S,
        "first_token_s": UNHURRIED_S,
        "between_tokens_s": UNHURRIED_S,
        "total_s": 2 * UNHURRIED_S,
    }
    urls = tuple(server if isinstance(server, str) else server.url for server in servers)
    built = OpenAiAssessor(LlmConfig(urls=urls, model="judge", **(unhurried | limits)), bound, observe)  # type: ignore[arg-type]
    try:
        yield built
    finally:
        await built.aclose()


async def collect(assessor: OpenAiAssessor, answer: Answer = ENGLISH) -> list[AssessmentPiece]:
    return [piece async for piece in assessor.assess(answer)]


def result(pieces: list[AssessmentPiece]) -> Assessment:
    last = pieces[-1]
    assert isinstance(last, AssessmentDone)
    return last.assessment


def score_of(pieces: list[AssessmentPiece]) -> float:
    return next(piece.value for piece in pieces if isinstance(piece, ScorePiece))


def weakness_of(pieces: list[AssessmentPiece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, WeaknessPiece))


def comments_of(pieces: list[AssessmentPiece]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for piece in pieces:
        if isinstance(piece, DetailPiece):
            texts[piece.dimension] = texts.get(piece.dimension, "") + piece.text
    return texts


def opened(pieces: list[AssessmentPiece]) -> list[DimensionScore]:
    return [piece.score for piece in pieces if isinstance(piece, DimensionPiece)]


@contextmanager
def unused_port() -> Iterator[int]:
    """A port where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port whose queue is full: connecting gets no answer at all."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


async def failure_of(
    llm: OpenAiAssessor, answer: Answer = ENGLISH
) -> tuple[LlmUnavailable, list[AssessmentPiece], float]:
    """How an assessment failed, what was shown before, and after how many seconds."""
    pieces: list[AssessmentPiece] = []
    started = time.monotonic()
    try:
        async for piece in llm.assess(answer):
            pieces.append(piece)  # noqa: PERF401 - what was shown before the failure counts
    except LlmUnavailable as failure:
        return failure, pieces, time.monotonic() - started
    raise AssertionError("it did not fail")


async def reason_of(*script: bytes | float | Ending, **limits: float) -> str:
    """Why one server with this script failed; nothing may have been shown."""
    seen = Observed()
    async with (
        scripted_server(script) as server,
        assessor(server, observe=seen, bound=by_rules, **limits) as llm,
    ):
        failure, pieces, _ = await failure_of(llm)
        await server.wait_until_idle(SOON_S)
    assert pieces == []
    assert seen.counts[f"llm_failed:{failure.reason}"] == len(server.exchanges)
    assert str(failure) == failure.reason
    return failure.reason


async def left_soon(server: ScriptedServer) -> bool:
    """Whether the server saw the client leave; TimeoutError when it stays."""
    await server.wait_until_idle(SOON_S)
    return server.exchanges[-1].gone_at_s is not None
