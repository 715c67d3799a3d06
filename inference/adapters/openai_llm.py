"""The Assessor over OpenAI-compatible servers: asks, reads the stream as it comes, shows what holds.

Knows tiers and when another try is worth it; stream, grammar and judgement are modules of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any, Final

from openai.types.chat import ChatCompletionMessageParam

from inference.adapters.llm_judgement import Judgement
from inference.adapters.llm_reply import ReplyParser
from inference.adapters.llm_stream import ChatServer, Delta, LlmBusy, LlmUnavailable, drain, http_client
from inference.adapters.partial_json import JsonError
from inference.assessment import Answer, Assessment
from inference.config import LlmConfig
from inference.nlp.injection import order_spans
from inference.observe import Observe, ignore
from inference.ports import AssessmentPiece
from inference.prompts import Prompt, assemble
from inference.schemas import REPLY_SCHEMA

logger = logging.getLogger(__name__)

# The source article says temperature 0.3 and top_p 0.9. Here the same answer must get the same score again,
# so decoding is greedy and top_p has no meaning; the loops this can cause end at the watchdogs. A greedy
# repeat after an invalid reply would get that reply again, so repeats sample as the article says. 512 tokens
# as there.
SAMPLING: Final[dict[str, Any]] = {"temperature": 0.0, "max_tokens": 512}
REPEAT_SAMPLING: Final[dict[str, Any]] = {"temperature": 0.3, "top_p": 0.9, "max_tokens": 512}
SECOND_TRY_SHARE = 0.4  # of the total budget must be left to ask the same server again: 2 s of 5
MAX_MODEL_CHARS = 100


class OpenAiAssessor:
    """Judges by the first tier that answers well; the rules bound it (`bound`). Shared by all sessions.

    Raises LlmUnavailable, whose `reason` says what happened. Observes `llm_first_token_s` (since the call),
    `llm_failed:<reason>`, `llm_incomplete`, `quote_dropped`, `dimension_by_rules`, `follow_up_dropped`.
    """

    def __init__(
        self,
        config: LlmConfig,
        bound: Callable[[Answer], Assessment],
        observe: Observe | None = None,
    ) -> None:
        if not config.urls:
            raise ValueError("LlmConfig.urls is empty: without a server there is nothing to ask")
        self._config = config
        self._bound = bound
        self._observe = observe or ignore
        self._http = http_client(config)
        self._servers = [ChatServer(url, config, self._http) for url in config.urls]

    async def aclose(self) -> None:
        await self._http.aclose()

    async def assess(self, answer: Answer) -> AsyncGenerator[AssessmentPiece, None]:
        rules = self._bound(answer)
        if rules.score is None:
            raise LlmUnavailable("out_of_bounds")  # nothing was said that a score could stand on
        started = asyncio.get_running_loop().time()
        tries = _Tries(self._servers, self._config.total_s, started + self._config.total_s)
        while True:
            shown = False
            reply = _Reply(answer, rules, self._config.model, self._observe)
            try:
                async with aclosing(reply.pieces(tries, started)) as pieces:
                    async for piece in pieces:
                        shown = True
                        yield piece
            except LlmUnavailable as failure:
                self._observe(f"llm_failed:{failure.reason}", 1)
                if shown or not await tries.another_after(failure):
                    raise
                logger.warning("no usable LLM reply (%s), trying server %d", failure.reason, tries.number)
            else:
                return


class _Tries:
    """Which server is asked next, and whether one is. All tiers in order, then perhaps the last one again."""

    def __init__(self, servers: list[ChatServer], total_s: float, total_at: float) -> None:
        self._servers = servers
        self._needed_s = total_s * SECOND_TRY_SHARE
        self.total_at = total_at
        self.number = 1
        self.sampling = SAMPLING

    @property
    def server(self) -> ChatServer:
        return self._servers[self.number - 1]

    async def another_after(self, failure: LlmUnavailable) -> bool:
        """Move to the next try and wait until it may start; False when the rules must do."""
        if failure.reason == "out_of_bounds":
            return False  # asking until a model agrees with the bounds would only hide that it does not
        left_s = self.total_at - asyncio.get_running_loop().time()
        if self.number < len(self._servers):
            self.number += 1
            return left_s > 0
        wait_s = _wait_before_repeat_s(failure)
        if self.sampling is REPEAT_SAMPLING or wait_s is None or left_s - wait_s < self._needed_s:
            return False
        self.sampling = REPEAT_SAMPLING
        await asyncio.sleep(wait_s)
        return True


def _wait_before_repeat_s(failure: LlmUnavailable) -> float | None:
    """None: asking the same server again is of no use."""
    if isinstance(failure, LlmBusy):
        return failure.retry_after_s
    return 0.0 if failure.reason == "invalid" else None


class _Reply:
    """One reply of one server, from its text to pieces."""

    def __init__(self, answer: Answer, rules: Assessment, model: str, observe: Observe) -> None:
        weights = {score.dimension: score.weight for score in rules.dimensions}
        self._prompt = assemble(answer, rules.kind, weights, order_spans(answer.text))
        self._judgement = Judgement(answer, rules, self._prompt, observe)
        self._parser = ReplyParser()
        self._model = model
        self._observe = observe
        self._begun = False

    async def pieces(self, tries: _Tries, started: float) -> AsyncGenerator[AssessmentPiece, None]:
        """Ends with AssessmentDone. The rules complete what the server cut short after the weakness."""
        deltas = tries.server.reply(_messages(self._prompt), REPLY_SCHEMA, tries.sampling, tries.total_at)
        async with aclosing(deltas):
            try:
                async for delta in deltas:
                    self._note_first(started)
                    for piece in self._read(delta):
                        yield piece
                    if self._parser.complete:
                        break
                self._check_end()
            except LlmUnavailable as failure:
                if failure.reason != "broken_off" or not self._judgement.presentable:
                    raise
                self._observe("llm_incomplete", 1)
            for piece in self._judgement.finish(complete=self._parser.complete):
                yield piece
            await drain(deltas)

    def _note_first(self, started: float) -> None:
        if not self._begun:
            self._begun = True
            self._observe("llm_first_token_s", asyncio.get_running_loop().time() - started)

    def _read(self, delta: Delta) -> Iterator[AssessmentPiece]:
        self._judgement.model = self._model or _name_of(delta.model)
        try:
            events = self._parser.feed(delta.text)
        except JsonError as error:
            raise LlmUnavailable(error.reason) from None
        for event in events:
            yield from self._judgement.read(event)

    def _check_end(self) -> None:
        if not self._parser.complete:
            raise LlmUnavailable("broken_off" if self._parser.begun else "invalid")


def _name_of(model: str) -> str:
    """As a server reports it; some report the path of a file, which is nobody's business."""
    return (model.rsplit("/", 1)[-1] if model.startswith("/") else model)[:MAX_MODEL_CHARS]


def _messages(prompt: Prompt) -> list[ChatCompletionMessageParam]:
    return [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
