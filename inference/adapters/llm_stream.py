"""One streamed chat completion over HTTP: its deadlines, its byte limit, a reason for each way to fail.

Knows the OpenAI-compatible API and time, not what is asked or answered. Neither exceptions nor log lines
carry any text of a prompt, a reply or an error body.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, Literal, TypeVar

import httpx2
import openai
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

from inference.config import LlmConfig, base_url
from inference.ports import EngineBusy, EngineUnavailable, JudgementDisputed

Reason = Literal[
    "connect",
    "first_token",
    "stalled",
    "total",
    "http_4xx",
    "http_5xx",
    "rate_limited",
    "invalid",
    "out_of_bounds",
    "too_long",
    "broken_off",
]
T = TypeVar("T")

# Around a token of 3 bytes a server sends some 250 bytes of event; the reply itself is held to `max_bytes`.
RAW_BYTES_PER_BYTE = 16
MAX_CONNECTIONS = 256  # far above what the gate in front lets through; a bound all the same
DRAIN_S = 0.1
DRAIN_CHUNKS = 8


class LlmUnavailable(EngineUnavailable):
    """No usable reply. `reason` is a metric label and all that is said.

    `engine_at_fault` is False where a breaker should not count it: the server did its part.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason

    @property
    def engine_at_fault(self) -> bool:
        return self.reason not in {"http_4xx", "rate_limited", "out_of_bounds"}


class LlmDisputed(LlmUnavailable, JudgementDisputed):
    """A score that the rules' reading contradicts."""

    def __init__(self) -> None:
        super().__init__("out_of_bounds")


class LlmBusy(LlmUnavailable, EngineBusy):
    """429. `retry_after_s` is None where the server named no time."""

    def __init__(self, retry_after_s: float | None) -> None:
        super().__init__("rate_limited")
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a reply. `text` is "" while a reasoning server only thinks."""

    text: str
    thought: str
    model: str

    @property
    def size_bytes(self) -> int:
        return len(f"{self.text}{self.thought}".encode("utf-8", "surrogatepass"))


class _BoundedBody(httpx2.AsyncByteStream):
    def __init__(self, body: httpx2.AsyncByteStream, max_bytes: int) -> None:
        self._body = body
        self._left_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            self._left_bytes -= len(part)
            if self._left_bytes < 0:
                raise LlmUnavailable("too_long")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificate store takes some 50 ms; once a process is enough."""
    return httpx2.create_ssl_context()


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Refuses what is not a plain 200 without reading its body, and bounds the rest.

    The SDK would read an error's body to its end and buffers a line without limit; a compressed body could
    unfold to any size.
    """

    def __init__(self, max_bytes: int) -> None:
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=32)
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls(), limits=limits)
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        if refusal := _refusal(response):
            await response.aclose()
            raise refusal
        body = response.stream
        if not isinstance(body, httpx2.AsyncByteStream):
            raise LlmUnavailable("invalid")
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_BoundedBody(body, self._max_bytes),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


def _refusal(response: httpx2.Response) -> LlmUnavailable | None:
    status = response.status_code
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return LlmBusy(_retry_after_s(response.headers))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return LlmUnavailable("http_5xx")
    if status != HTTPStatus.OK:
        return LlmUnavailable("http_4xx")
    if response.headers.get("content-encoding", "identity") != "identity":
        return LlmUnavailable("invalid")
    return None


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds; the header's other form, a date, counts as no time named."""
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None


def http_client(config: LlmConfig) -> httpx2.AsyncClient:
    """One pool for all tiers. Only connecting is timed here: a read timeout restarts with every byte."""
    return httpx2.AsyncClient(
        transport=BoundedTransport(config.max_bytes * RAW_BYTES_PER_BYTE),
        timeout=httpx2.Timeout(None, connect=config.connect_s, pool=config.connect_s),
        headers={"Accept-Encoding": "identity"},
        follow_redirects=False,
    )


class ChatServer:
    """One OpenAI-compatible server."""

    def __init__(self, url: str, config: LlmConfig, client: httpx2.AsyncClient) -> None:
        self._config = config
        self._client = openai.AsyncOpenAI(
            base_url=base_url(url), api_key=config.api_key or "none", http_client=client, max_retries=0
        )

    async def reply(
        self,
        messages: list[ChatCompletionMessageParam],
        schema: dict[str, Any],
        sampling: dict[str, Any],
        total_at: float,
    ) -> AsyncGenerator[Delta, None]:
        """The reply's pieces, each with text or thought in it. Ends with the server's stream.

        `total_at` is on the loop's clock. Closing this generator closes the connection.
        Raises LlmUnavailable.
        """
        now = asyncio.get_running_loop().time
        try:
            limit = _Deadline("first_token", now() + self._config.first_token_s, total_at)
            stream = await limit.keep(self._create(messages, schema, sampling))
            async with stream:
                size_bytes = 0
                while delta := await limit.keep(_next_delta(stream)):
                    size_bytes += delta.size_bytes
                    _check_size(size_bytes, self._config.max_bytes)
                    yield delta
                    limit = _Deadline("stalled", now() + self._config.between_tokens_s, total_at)
        except LlmUnavailable:
            raise
        except (openai.OpenAIError, httpx2.HTTPError, ValueError, RecursionError) as error:
            # Not chained: the cause may hold the text it failed on.
            raise LlmUnavailable(_reason_of(error)) from None

    async def _create(
        self, messages: list[ChatCompletionMessageParam], schema: dict[str, Any], sampling: dict[str, Any]
    ) -> openai.AsyncStream[ChatCompletionChunk]:
        stream: openai.AsyncStream[ChatCompletionChunk] = await self._client.chat.completions.create(
            model=self._config.model,
            messages=messages,
            stream=True,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "assessment", "strict": True, "schema": schema},
            },
            **sampling,
        )
        return stream


def _check_size(size_bytes: int, max_bytes: int) -> None:
    if size_bytes > max_bytes:
        raise LlmUnavailable("too_long")


@dataclass(frozen=True, slots=True)
class _Deadline:
    reason: Reason
    at: float
    total_at: float

    async def keep(self, waiting: Awaitable[T]) -> T:
        """Around each wait and never across a yield, where it would cancel whatever the consumer awaits."""
        try:
            async with asyncio.timeout_at(min(self.at, self.total_at)):
                return await waiting
        except TimeoutError:
            raise LlmUnavailable("total" if self.total_at <= self.at else self.reason) from None


def _reason_of(error: Exception) -> Reason:
    if isinstance(error, ValueError | RecursionError):
        return "invalid"
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
    if isinstance(error, openai.APITimeoutError) or isinstance(cause, httpx2.ConnectError):
        return "connect"
    return "broken_off"


async def _next_delta(stream: openai.AsyncStream[ChatCompletionChunk]) -> Delta | None:
    """The next piece with text or thought in it; None at the end. Empty ones are no sign of life."""
    while (chunk := await anext(stream, None)) is not None:
        delta = _delta_of(chunk)
        if delta.text or delta.thought:
            return delta
    return None


def _delta_of(chunk: ChatCompletionChunk) -> Delta:
    """What a chunk says. The SDK does not validate it: any field may be missing or odd."""
    try:
        delta = chunk.choices[0].delta
    except (AttributeError, IndexError, KeyError, TypeError):
        return Delta("", "", "")
    thoughts = (getattr(delta, name, "") for name in ("reasoning_content", "reasoning", "refusal"))
    text = _if_text(getattr(delta, "content", ""))
    return Delta(text, "".join(map(_if_text, thoughts)), _if_text(getattr(chunk, "model", "")))


def _if_text(value: object) -> str:
    return value if isinstance(value, str) else ""


async def drain(deltas: AsyncGenerator[Delta, None]) -> None:
    """Read to the end of a reply that has all it should, so that its connection can be used again."""
    with suppress(LlmUnavailable, TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            for _ in range(DRAIN_CHUNKS):
                await anext(deltas, None)
