"""Plays a recording through a running server's socket, as a page would. For `rehearse --url`.

Makes an interview in the shared database and deletes it afterwards.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from apps.accounts.models import Organisation
from apps.interviews.models import Interview, Question, Template
from apps.interviews.services.entry import candidate_for_session
from apps.interviews.services.seats import ticket_issue
from apps.live.close_codes import CLOSE_TABLE, CloseCode
from apps.live.frames import LAST, encode_frame
from apps.live.messages import SUBPROTOCOL
from apps.privacy.notice import notice_for
from apps.privacy.services import interview_delete
from inference import events as ev
from inference.assessment import QuestionSpec
from inference.nlp.question import kind_and_form
from inference.rehearsal import CHUNK_S, Summary, chunks

CONNECT_S = 5.0
RETURNS = 8  # then the server is gone for good
FIRST_WAIT_S = 0.125
LONGEST_WAIT_S = 8.0
SILENT_SERVER_S = 90.0  # a whole decode with its retry fits; a dead server does not wait for ever


class UrlRefused(Exception):  # noqa: N818 - a verdict of the other side
    """The server at --url could not be used. One line that says what to do."""


@dataclass(slots=True)
class _Play:
    """How far the recording is, and which answer the frames belong to. Lasts over all its connections."""

    frames: list[bytes]
    speed: float
    began: float = 0.0
    sent: int = 0
    answer: int = 0
    seq: int = 0
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    counted: int = 0  # the answer that was last told to the summary
    last_answer: int | None = None  # the recording ended in this one
    over: bool = False
    resume: str = ""
    epoch: str | None = None
    events_from: int = 0
    returns: int = 0  # since the last welcome
    spread_s: float = 0.0  # as the server asked for before it went

    def frame(self, seq: int) -> bytes:
        """Of the answer, which began where `seq` was 0."""
        at = self.sent - self.seq + seq
        flags = LAST if at == len(self.frames) - 1 else 0
        capture_us = round(at * CHUNK_S * 1_000_000)
        return encode_frame(self.frames[at], answer=self.answer, seq=seq, capture_us=capture_us, flags=flags)


@dataclass(frozen=True, slots=True)
class _Visitor:
    """Who plays: an interview of its own, its login session, and where the server is."""

    url: str
    origin: str
    interview: Interview
    cookie: str

    def ticket(self) -> str:
        token = self.interview.candidate.session_token
        return ticket_issue(interview=self.interview, session_token=token)

    def connect(self) -> connect:
        return connect(
            f"{self.url.rstrip('/')}/ws/interviews/{self.interview.public_id}/",
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
            additional_headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={self.cookie}"},
            origin=self.origin,  # type: ignore[arg-type]
            open_timeout=CONNECT_S,
            max_size=None,
        )


async def rehearse_through(
    url: str, pcm: bytes, question: QuestionSpec, summary: Summary
) -> AsyncIterator[tuple[float, ev.Event]]:
    """Yield (at_s, event) from the server at `url`; comes back to one that restarts. Raises UrlRefused."""
    origin = _origin(url)
    interview, cookie = await sync_to_async(_prepare)(question)
    visitor, play = _Visitor(url, origin, interview, cookie), _Play(chunks(pcm), summary.speed)
    try:
        while not play.over:
            try:
                async with visitor.connect() as socket:
                    await _enter(socket, visitor, play)
                    async for timed in _play(socket, play, summary):
                        yield timed
            except (OSError, TimeoutError, WebSocketException, ValueError) as exc:
                await _wait_to_return(url, play, exc)
    finally:
        await sync_to_async(_clear)(interview)


async def _enter(socket: ClientConnection, visitor: _Visitor, play: _Play) -> None:
    """Hello and welcome; then the server gets again what it does not have of the answer."""
    way = {"resume": play.resume} if play.resume else {"ticket": await sync_to_async(visitor.ticket)()}
    kept = {"answer": play.answer, "epoch": play.epoch, "have_to": play.seq, "events_from": play.events_from}
    await socket.send(json.dumps({"type": "hello", **way, **kept}))
    async with asyncio.timeout(SILENT_SERVER_S):
        welcome = json.loads(await socket.recv())
    play.resume, play.epoch = welcome["resume_token"], welcome["epoch"]
    play.returns, play.spread_s = 0, 0.0
    if not play.answer or welcome["answer"] != play.answer:
        return
    for seq in range(welcome["next"], play.seq):
        await socket.send(play.frame(seq))
    if not play.opened.is_set() or play.last_answer is not None:
        await _end(socket, play.answer, play.seq)


async def _wait_to_return(url: str, play: _Play, exc: Exception) -> None:
    """As a page would. Raises UrlRefused where a page would not come back."""
    code = exc.rcvd.code if isinstance(exc, ConnectionClosed) and exc.rcvd else None
    if code == CloseCode.UNAUTHENTICATED and play.resume:
        play.resume = ""  # once, with a fresh ticket
        return
    play.returns += 1
    never_there = play.epoch is None
    if code is not None and (never_there or not _comes_back(code)):
        raise UrlRefused(f"{url} closed the socket ({code}).") from exc
    if never_there or play.returns > RETURNS:
        raise UrlRefused(
            f"{url} does not answer ({type(exc).__name__}). Start the server, or check the address."
        ) from exc
    longest_s = max(play.spread_s, min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**play.returns))
    await asyncio.sleep(random.uniform(0, longest_s))  # noqa: S311 - no secret


def _comes_back(code: int) -> bool:
    return any(rule.retry for known, rule in CLOSE_TABLE.items() if known == code)


async def _play(
    socket: ClientConnection, play: _Play, summary: Summary
) -> AsyncIterator[tuple[float, ev.Event]]:
    sending = asyncio.create_task(_send(socket, play, summary))
    try:
        while not play.over:
            if sending.done():
                sending.result()  # raises what stopped it
            async with asyncio.timeout(SILENT_SERVER_S):
                message = json.loads(await socket.recv())
            event = await _event(socket, play, message)
            if event is None:
                continue
            at_s = time.monotonic() - play.began if play.began else 0.0
            _follow(play, event)
            summary.add(at_s, event)
            yield at_s, event
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _event(socket: ClientConnection, play: _Play, message: dict[str, Any]) -> ev.Event | None:
    """An event of the vocabulary, or None for ack, heartbeat and the like."""
    match message["type"]:
        case "heartbeat":
            await socket.send(json.dumps({"type": "heartbeat", "n": message["n"]}))
        case "drain":
            play.spread_s = message["spread_ms"] / 1_000
        case "welcome" | "ack" | "nack" | "committed" | "reload":
            pass
        case _:
            return ev.EVENT.validate_python(message)
    return None


def _follow(play: _Play, event: ev.Event) -> None:
    """After the answer that the recording ended in, the server asks the next question or says goodbye."""
    play.events_from = max(play.events_from, event.eid)
    match event:
        case ev.AnswerOpened(turn=turn) if play.last_answer is not None and turn > play.last_answer:
            play.over = True
        case ev.AnswerOpened(turn=turn):
            play.answer, play.seq = turn, 0
            play.opened.set()
        case ev.TurnEnded():
            play.opened.clear()
        case ev.SessionEnded():
            play.over = True


async def _send(socket: ClientConnection, play: _Play, summary: Summary) -> None:
    """Frames at their time; after a turn that the server ended, `end`, and on with the next answer."""
    while play.last_answer is None:
        await play.opened.wait()
        if play.counted != play.answer:
            play.counted = play.answer
            play.began = play.began or time.monotonic()
            summary.turn_began(play.answer, play.sent * CHUNK_S)
        if play.sent == len(play.frames):
            play.last_answer = play.answer
            await _end(socket, play.answer, play.seq)
            return
        answer = play.answer
        due = play.began + (play.sent + 1) * CHUNK_S / play.speed
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if answer != play.answer:
            continue
        if play.opened.is_set():
            await socket.send(play.frame(play.seq))
            play.sent, play.seq = play.sent + 1, play.seq + 1
        else:
            await _end(socket, answer, play.seq)


async def _end(socket: ClientConnection, answer: int, frames: int) -> None:
    await socket.send(json.dumps({"type": "end", "answer": answer, "last_seq": frames - 1, "sha256": ""}))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"ws", "wss"} or not parts.netloc:
        raise UrlRefused(f"{url} is no socket address. Use ws://127.0.0.1:8000, or wss:// for https.")
    return f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc}"


def _prepare(question: QuestionSpec) -> tuple[Interview, str]:
    """An interview of one question whose consent is ours, and a login session for it."""
    organisation, _ = Organisation.objects.get_or_create(slug="rehearsal", defaults={"name": "Rehearsal"})
    template = Template.objects.create(
        organisation=organisation,
        slug=f"rehearsal-{time.time_ns()}",
        title="Rehearsal",
        language=question.language,
        follow_ups=True,
    )
    Question.objects.create(
        template=template,
        position=1,
        text=question.text,
        kind=kind_and_form(question)[0],
        terms=", ".join(question.terms),
        limit_s=600,
    )
    session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore()
    candidate = candidate_for_session(session, organisation=organisation)
    session.save()
    interview = Interview.objects.create(
        organisation=organisation,
        template=template,
        candidate=candidate,
        language=question.language,
        notice_version=notice_for(question.language).version,
        consented_at=timezone.now(),
    )
    return interview, str(session.session_key)


def _clear(interview: Interview) -> None:
    template = interview.template
    interview_delete(interview=interview)
    template.questions.all().delete()
    template.delete()
