"""A speech server over a real socket that answers, waits and fails as a script says, and pools over such.

A script is a list of steps for one request: bytes to send, seconds to wait, or an ending. `answers` has what
is sent for the nth request; the last one serves all further ones. Silence is answered with no text, so that
probes need no script.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import wave
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from inference.adapters.fakes import ScriptedRecognizer
from inference.adapters.openai_asr import OpenAiRecognizer
from inference.adapters.recognizer_pool import RecognizerPool
from inference.config import RemoteAsrConfig
from tests.inference.llm.scripted_server import Ending, Script, whole

WITHIN_S = 60.0
FIELD = re.compile(
    rb'name="([^"]+)"(?:; filename="[^"]*")?\r\n(?:Content-Type: [^\r]*\r\n)?\r\n', re.IGNORECASE
)


@dataclass(slots=True)
class Asked:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    fields: dict[str, str]
    pcm: bytes
    gone: bool = False


@dataclass(slots=True)
class SpeechServer:
    """`gate` holds every answer while it is cleared; `at_most` is how many requests there were at once."""

    answers: list[Script]
    probe: Script = ()
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[Asked] = field(default_factory=list)
    probes: int = 0
    active: int = 0
    at_most: int = 0
    port: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while asked := await _request(reader):
                if not await self._answer(asked, reader, writer):
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    async def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        while self._writers:
            await asyncio.sleep(0)

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if any(asked.pcm):
            script = self.answers[min(len(self.asked), len(self.answers) - 1)]
            self.asked.append(asked)
        else:
            self.probes += 1
            script = self.probe or said("")
        self.active += 1
        self.at_most = max(self.at_most, self.active)
        playing = asyncio.ensure_future(self._play(script, writer))
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            asked.gone = not playing.done()
            return playing.done() and playing.result()
        finally:
            self.active -= 1
            for task in (playing, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, ConnectionError):
                    await task

    async def _play(self, script: Script, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may serve another request."""
        await self.gate.wait()
        for step in script:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif isinstance(step, Ending):
                if step is Ending.HANG:
                    await asyncio.Event().wait()
                return False
            else:
                await asyncio.sleep(step)
        return True


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode().strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    body = await reader.readexactly(int(headers["content-length"]))
    fields, sound = _fields(body, headers["content-type"].split("boundary=")[1].encode())
    with wave.open(io.BytesIO(sound)) as audio:
        assert (audio.getframerate(), audio.getnchannels(), audio.getsampwidth()) == (16_000, 1, 2)
        pcm = audio.readframes(audio.getnframes())
    return Asked(first.split()[1], headers, fields, pcm)


def _fields(body: bytes, boundary: bytes) -> tuple[dict[str, str], bytes]:
    fields, sound = {}, b""
    for part in body.split(b"--" + boundary)[1:-1]:
        found = FIELD.search(part)
        assert found is not None
        value = part[found.end() : -2]
        if found[1] == b"file":
            sound = value
        else:
            fields[found[1].decode()] = value.decode()
    return fields, sound


@asynccontextmanager
async def speech_server(*answers: Script, port: int = 0, **more: Any) -> AsyncIterator[SpeechServer]:
    served = SpeechServer(list(answers), **more)
    served.gate.set()
    listener = await asyncio.start_server(served.serve, "127.0.0.1", port)
    served.port = listener.sockets[0].getsockname()[1]
    try:
        yield served
    finally:
        listener.close()
        await served.close()


def said(text: str, **more: object) -> Script:
    """A good answer, with the words that the text has."""
    words = [
        {"word": word, "start": 0.1 * number, "end": 0.1 * number + 0.08, "probability": 0.9}
        for number, word in enumerate(text.split())
    ]
    body = {"task": "transcribe", "language": "english", "duration": 2.0, "text": text, "words": words}
    return whole("200 OK", json.dumps(body | more).encode())


def after(wait_s: float, script: Script) -> Script:
    steps: Sequence[Any] = [wait_s, *script]
    return steps


@asynccontextmanager
async def pool(
    *servers: SpeechServer | str,
    local: ScriptedRecognizer | None = None,
    counts: Counter[str] | None = None,
    **config: Any,
) -> AsyncIterator[RecognizerPool]:
    """A pool whose sick servers stay so unless a test gives them a shorter rest."""
    urls = tuple(server if isinstance(server, str) else server.url for server in servers)
    limits = {"total_s": WITHIN_S, "connect_s": WITHIN_S, "first_rest_s": 10 * WITHIN_S} | config
    built = RemoteAsrConfig(urls, **limits)
    seen = Counter[str]() if counts is None else counts

    def observe(name: str, _: float) -> None:
        seen.update([name])

    made = RecognizerPool([OpenAiRecognizer(url, built, observe) for url in urls], local, built, observe)
    try:
        yield made
    finally:
        await made.aclose()
