"""Plays a recording through a running server's socket, as a page would. For `rehearse --url`.

Makes an interview and a ticket in the shared database and deletes them afterwards.
"""

from __future__ import annotations

import asyncio
import json
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
from apps.live.frames import LAST, encode_frame
from apps.live.messages import SUBPROTOCOL
from apps.privacy.notice import notice_for
from apps.privacy.services import interview_delete
from inference import events as ev
from inference.assessment import QuestionSpec
from inference.nlp.question import kind_and_form
from inference.rehearsal import CHUNK_S, Summary, chunks

CONNECT_S = 5.0
SILENT_SERVER_S = 90.0  # a whole decode with its retry fits; a dead server does not wait for ever


class UrlRefused(Exception):  # noqa: N818 - a verdict of the other side
    """The server at --url could not be used. One line that says what to do."""


@dataclass(slots=True)
class _Play:
    """How far the recording is, and which answer the frames belong to."""

    frames: list[bytes]
    speed: float
    began: float = 0.0
    sent: int = 0
    answer: int = 0
    seq: int = 0
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    last_answer: int | None = None  # the recording ended in this one
    over: bool = False


async def rehearse_through(
    url: str, pcm: bytes, question: QuestionSpec, summary: Summary
) -> AsyncIterator[tuple[float, ev.Event]]:
    """Yield (at_s, event) from the server at `url`. Raises UrlRefused."""
    origin = _origin(url)
    interview, cookie, ticket = await sync_to_async(_prepare)(question)
    try:
        address = f"{url.rstrip('/')}/ws/interviews/{interview.public_id}/"
        try:
            async with connect(
                address,
                subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
                additional_headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={cookie}"},
                origin=origin,  # type: ignore[arg-type]
                open_timeout=CONNECT_S,
                max_size=None,
            ) as socket:
                await socket.send(json.dumps({"type": "hello", "ticket": ticket}))
                async for timed in _play(socket, _Play(chunks(pcm), summary.speed), summary):
                    yield timed
        except ConnectionClosed as exc:
            raise UrlRefused(
                f"{url} closed the socket ({exc.rcvd.code if exc.rcvd else 'no word'})."
            ) from exc
        except (OSError, TimeoutError, WebSocketException, ValueError) as exc:
            raise UrlRefused(
                f"{url} does not answer ({type(exc).__name__}). Start the server, or check the address."
            ) from exc
    finally:
        await sync_to_async(_clear)(interview)


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
            event = _event(message)
            if event is None:
                continue
            at_s = time.monotonic() - play.began if play.began else 0.0
            _follow(play, event)
            summary.add(at_s, event)
            yield at_s, event
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


def _event(message: dict[str, Any]) -> ev.Event | None:
    """An event of the vocabulary, or None for welcome, ack, heartbeat and the like."""
    if message.get("type") in {"welcome", "ack", "nack", "committed", "heartbeat", "drain", "reload"}:
        return None
    return ev.EVENT.validate_python(message)


def _follow(play: _Play, event: ev.Event) -> None:
    """After the answer that the recording ended in, the server asks the next question or says goodbye."""
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
    answer = 0
    while True:
        await play.opened.wait()
        if answer != play.answer:
            answer = play.answer
            play.began = play.began or time.monotonic()
            summary.turn_began(answer, play.sent * CHUNK_S)
        if play.sent == len(play.frames):
            break
        due = play.began + (play.sent + 1) * CHUNK_S / play.speed
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        if not play.opened.is_set():
            await _end(socket, answer, play.seq)
            continue
        flags = LAST if play.sent == len(play.frames) - 1 else 0
        capture_us = round(play.sent * CHUNK_S * 1_000_000)
        frame = play.frames[play.sent]
        await socket.send(
            encode_frame(frame, answer=answer, seq=play.seq, capture_us=capture_us, flags=flags)
        )
        play.sent, play.seq = play.sent + 1, play.seq + 1
    play.last_answer = answer
    await _end(socket, answer, play.seq)


async def _end(socket: ClientConnection, answer: int, frames: int) -> None:
    await socket.send(json.dumps({"type": "end", "answer": answer, "last_seq": frames - 1, "sha256": ""}))


def _origin(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"ws", "wss"} or not parts.netloc:
        raise UrlRefused(f"{url} is no socket address. Use ws://127.0.0.1:8000, or wss:// for https.")
    return f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc}"


def _prepare(question: QuestionSpec) -> tuple[Interview, str, str]:
    """An interview of one question whose consent is ours, a login session for it, and a ticket."""
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
    ticket = ticket_issue(interview=interview, session_token=candidate.session_token)
    return interview, str(session.session_key), ticket


def _clear(interview: Interview) -> None:
    template = interview.template
    interview_delete(interview=interview)
    template.questions.all().delete()
    template.delete()
