"""The Recognizer over one OpenAI-compatible speech server: deadline, bounds, a reason for each failure.

Knows HTTP and time, nothing of other servers. Neither exceptions nor log lines carry the key, the address or
any text of an answer.
"""

from __future__ import annotations

import asyncio
import io
import time
import wave
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Final, Literal

import httpx2

from inference.adapters import guards
from inference.adapters.asr_reply import Asked, ReplyInvalid, transcript_of
from inference.adapters.loudness import samples_of, silent, voiced_s
from inference.adapters.waiting import require_speech
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, duration_s
from inference.config import RemoteAsrConfig, base_url
from inference.observe import Observe, ignore
from inference.ports import EngineBusy, EngineUnavailable, Priority, Speech, Transcript

Reason = Literal[
    "connect",
    "slow",
    "refused",
    "rejected",
    "http_5xx",
    "busy",
    "invalid",
    "too_long",
    "broken_off",
    "closed",
]
TERMS_MIN_VOICED_S = 1.0  # a shorter sound is too easily heard as the prompt itself
PROBE = bytes(SAMPLE_RATE * BYTES_PER_SAMPLE)
LONGEST_RETRY_AFTER_S = 30.0

# What a server is asked for, best first: who refuses one is asked for the next, and from then on only for it.
_FORMS: Final[tuple[dict[str, str], ...]] = (
    {"response_format": "verbose_json", "timestamp_granularities[]": "word"},
    {"response_format": "verbose_json"},
    {"response_format": "json"},
)
_FAILURES = (TimeoutError, httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL)
_REJECTED = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}


class AsrUnavailable(EngineUnavailable):
    """No usable answer. `reason` is a metric label and all that is said."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(f"a speech server failed: {reason}")
        self.reason: Reason = reason

    @property
    def server_at_fault(self) -> bool:
        """Whether the next request would fare no better."""
        return self.reason not in {"rejected", "busy", "closed"}


class AsrBusy(AsrUnavailable, EngineBusy):
    """429. The server is well and wants `retry_after_s` of peace."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("busy")
        self.retry_after_s = retry_after_s


class OpenAiRecognizer:
    """Asks `POST {url}/audio/transcriptions`. Observes `asr_remote_s`, `asr_server_failed:<reason>`."""

    def __init__(self, url: str, config: RemoteAsrConfig, observe: Observe = ignore) -> None:
        self._address = f"{base_url(url)}/audio/transcriptions"
        self._config, self._observe = config, observe
        self._form = 0
        self._asking: set[asyncio.Task[Transcript]] = set()
        self._closed = False
        # Only connecting is timed here: a read timeout starts again with every byte.
        self._client = httpx2.AsyncClient(
            transport=httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=config.at_once + 1)),
            timeout=httpx2.Timeout(None, connect=config.connect_s),
            headers=_headers(config),
            follow_redirects=False,
        )

    async def start(self) -> None:
        """Have a second of silence transcribed: the whole way is open, and the server's model loaded."""
        await self._while_open(self._heard(Asked(Speech(PROBE, None, with_words=False), 0.0, ())))

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        """`priority` is for whoever chooses among requests: a server takes them as they come."""
        require_speech(speech)
        return await self._while_open(self._transcribe(speech))

    async def aclose(self) -> None:
        self._closed = True
        asking = list(self._asking)
        for task in asking:
            task.cancel()
        if asking:
            await asyncio.wait(asking)
        await self._client.aclose()

    async def _while_open(self, asking: Coroutine[None, None, Transcript]) -> Transcript:
        if self._closed:
            asking.close()
            raise AsrUnavailable("closed")
        task = asyncio.create_task(asking)
        self._asking.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._closed and current is not None and not current.cancelling():
                raise AsrUnavailable("closed") from None
            raise
        finally:
            self._asking.discard(task)

    async def _transcribe(self, speech: Speech) -> Transcript:
        asked = await asyncio.to_thread(_asked, speech)
        if asked is None:
            return Transcript("", speech.language or "en")
        transcript = await self._heard(asked)
        self._observe("asr_remote_s", transcript.decode_s)
        return transcript

    async def _heard(self, asked: Asked) -> Transcript:
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(self._config.total_s + duration_s(asked.speech.pcm)):
                body = await self._asked_in_some_form(asked)
                transcript = await asyncio.to_thread(transcript_of, body, asked)
        except (*_FAILURES, ReplyInvalid, AsrUnavailable) as error:
            # Not chained: the cause may hold an address or what it failed on.
            failure = error if isinstance(error, AsrUnavailable) else AsrUnavailable(_reason_of(error))
            self._observe(f"asr_server_failed:{failure.reason}", 1)
            raise failure from None
        return replace(transcript, decode_s=time.monotonic() - began_s)

    async def _asked_in_some_form(self, asked: Asked) -> bytes:
        first = max(self._form, 0 if asked.speech.with_words else 1)
        for form in range(first, len(_FORMS)):
            try:
                body = await self._post(asked, _FORMS[form])
            except AsrUnavailable as failure:
                if failure.reason != "rejected" or form + 1 == len(_FORMS):
                    raise
            else:
                self._form = form if form > first else self._form
                return body
        raise AsrUnavailable("rejected")

    async def _post(self, asked: Asked, form: Mapping[str, str]) -> bytes:
        fields = {"model": self._config.model, "temperature": "0", **form}
        if asked.speech.language is not None:
            fields["language"] = asked.speech.language
        if asked.terms:
            fields["prompt"] = ", ".join(asked.terms)
        files = {"file": ("speech.wav", _wav(asked.speech.pcm), "audio/wav")}
        async with self._client.stream("POST", self._address, data=fields, files=files) as response:
            if refusal := _refusal(response):
                raise refusal
            return await self._body(response)

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > self._config.max_bytes:
                raise AsrUnavailable("too_long")
        return bytes(body)


def _headers(config: RemoteAsrConfig) -> dict[str, str]:
    key = {"Authorization": f"Bearer {config.api_key}"} if config.api_key else {}
    return {"Accept-Encoding": "identity", **key}


def _asked(speech: Speech) -> Asked | None:
    """None where nobody speaks. A second try of the same audio goes without the terms."""
    samples = samples_of(speech.pcm)
    if silent(samples):
        return None
    voice_s = voiced_s(samples) if speech.voiced_s is None else speech.voiced_s
    if voice_s < guards.VOICE_MIN_S:
        return None
    terms = speech.terms if voice_s >= TERMS_MIN_VOICED_S and not speech.full_window else ()
    return Asked(speech, voice_s, terms)


def _wav(pcm: bytes) -> bytes:
    held = io.BytesIO()
    with wave.open(held, "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(BYTES_PER_SAMPLE)
        audio.setframerate(SAMPLE_RATE)
        audio.writeframes(pcm)
    return held.getvalue()


def _refusal(response: httpx2.Response) -> AsrUnavailable | None:
    status = response.status_code
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return AsrBusy(_retry_after_s(response.headers))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return AsrUnavailable("http_5xx")
    if status in _REJECTED:
        return AsrUnavailable("rejected")
    if status != HTTPStatus.OK:
        return AsrUnavailable("refused")
    encoded = response.headers.get("content-encoding", "identity") != "identity"
    return AsrUnavailable("invalid") if encoded else None


def _retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds; the header's other form, a date, counts as no time named."""
    value = headers.get("retry-after", "")
    named = float(value) if value.isascii() and value.isdigit() else 1.0
    return min(LONGEST_RETRY_AFTER_S, max(1.0, named))


def _reason_of(error: Exception) -> Reason:
    if isinstance(error, TimeoutError):
        return "slow"
    if isinstance(error, ReplyInvalid):
        return "invalid"
    return "connect" if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout) else "broken_off"
