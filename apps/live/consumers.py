"""The WebSocket edge of one live interview: who may come in, bytes and messages in, events out.

No decisions about the interview are made here; they are the conductor's. Nothing is saved at a disconnect:
rows and spool always hold it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol
from uuid import UUID

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from apps.interviews.services.seats import InterviewGone, Seat, Superseded
from apps.live import process
from apps.live.admission import Admission, admitted, buffer_key, seated
from apps.live.answer import AnswerSetting
from apps.live.close_codes import DRAIN_SPREAD_MS, CloseCode, Refused
from apps.live.conductor import HEARTBEAT_MS, IDLE_MS, Conductor
from apps.live.engines import EngineRoom, process_engines
from apps.live.frames import RATES, decode_frame
from apps.live.messages import (
    SUBPROTOCOL,
    Ack,
    Drain,
    FromPage,
    Gap,
    Hello,
    PageHeartbeat,
    Welcome,
    parse_message,
)
from apps.live.origins import origin_allowed
from apps.live.outbox import Outbox, Outgoing, encoded
from apps.live.process import live_sockets, spool_sync, taken_over
from apps.live.pulse import Pulse
from apps.live.recorder import Place
from apps.live.replay import turns
from apps.live.rows import DATABASE_AWAY, in_database
from apps.live.spool import SpoolBusyError
from apps.ops.metrics import observe
from inference import events as ev
from inference.audio import SAMPLE_RATE

logger = logging.getLogger(__name__)

HELLO_WITHIN_S = 5.0
WELCOME_WITHIN_S = 30.0  # after the connection
GOODBYE_WITHIN_S = 2.0
AWAY = (*DATABASE_AWAY, SpoolBusyError)  # the page tries again; nothing of ours is wrong
QUEUED_MESSAGES = 64  # text messages not yet handled; a page sends a few a minute


class Direct(Protocol):
    """What our own server adds to a socket (`BoundedProtocol`)."""

    def say(self, text: str) -> None: ...


class LiveConsumer(AsyncWebsocketConsumer):
    """One socket. Binary messages never await; text messages are handled in order by a task of their own."""

    # Channels' own subscription would end the socket with the layer; the process's own outlives it.
    channel_layer_alias = "none"

    def __init__(self, room: EngineRoom = process_engines, idle_s: float = IDLE_MS / 1_000) -> None:
        super().__init__()
        self.gone = asyncio.Event()
        self.seat: Seat | None = None
        self._room = room
        self._pulse = Pulse(idle_s, HEARTBEAT_MS / 1_000)
        self._outbox = Outbox()
        self._inbox: asyncio.Queue[FromPage] = asyncio.Queue(QUEUED_MESSAGES)
        self._verdict: asyncio.Future[Refused] = asyncio.get_running_loop().create_future()
        self._conductor: Conductor | None = None
        self._rate = SAMPLE_RATE  # of this page's frames
        self._life: asyncio.Task[None] | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._direct: Direct | None = None
        self._flowing = False  # the welcome is out: what is told goes down as it comes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Until the socket is gone."""
        # Channels' loop makes a task of every message, and its dispatch hops to one shared database thread: a
        # slow query there would hold up the audio of all sessions. Nothing on this path needs the database.
        self.scope, self.base_send = scope, send
        self._direct = scope.get("direct")
        with suppress(StopConsumer):
            while True:
                await self.dispatch(await receive())
                await asyncio.sleep(0)  # a burst of one page: what hears it, and other pages, come in between

    async def dispatch(self, message: Mapping[str, Any]) -> None:
        match message["type"]:
            case "websocket.receive":
                self._receive(message.get("bytes"), message.get("text"))
            case "websocket.connect":
                await self._connect()
            case "websocket.disconnect":
                await self._disconnect()
                raise StopConsumer

    def end(self, code: CloseCode, why: str) -> None:
        """Close the socket soon; the first reason stands."""
        if not self._verdict.done():
            self._verdict.set_result(Refused(code, why))

    def erased(self) -> None:
        self._tell(ev.SessionEnded(reason="deleted"))
        self.end(CloseCode.NO_CONSENT, "the interview was deleted")

    def tick(self, passed_s: float) -> None:
        if self._conductor is None:
            return  # a socket without a hello has a deadline of its own
        try:
            self._conductor.tick()
            if beat := self._pulse.tick(passed_s):
                self._tell(beat)
        except Refused as refused:
            self.end(refused.code, refused.why)

    def _receive(self, raw: bytes | None, text: str | None) -> None:
        self._pulse.heard()
        if self._verdict.done():
            return
        try:
            if raw is not None:
                self._take(raw)
            else:
                self._queue(parse_message(text or ""))
        except Refused as refused:
            self.end(refused.code, refused.why)
        except Exception:
            logger.exception("a message could not be taken")
            self.end(CloseCode.ERROR, "failed")

    def _take(self, raw: bytes) -> None:
        if self._conductor is None:
            raise Refused(CloseCode.BAD_FRAME, "audio before the welcome")
        self._conductor.take(decode_frame(raw, self._rate))

    def _queue(self, message: FromPage) -> None:
        if isinstance(message, PageHeartbeat) and self._conductor is not None:
            self._outbox.rtt_s = self._pulse.echoed(message.n) or self._outbox.rtt_s
            return
        if isinstance(message, Gap) and self._conductor is not None:
            self._conductor.take_gap(message)  # in line with the frames around it
            return
        try:
            self._inbox.put_nowait(message)
        except asyncio.QueueFull:
            raise Refused(CloseCode.RATE, f"{QUEUED_MESSAGES} messages wait") from None

    async def _connect(self) -> None:
        headers = {name.decode("latin1"): value.decode("latin1") for name, value in self.scope["headers"]}
        if not origin_allowed(
            headers.get("origin", ""),
            headers.get("host", ""),
            allowed=settings.ALLOWED_ORIGINS,
            same_host=settings.DEBUG,
        ):
            logger.warning("socket refused: not an allowed origin")
            await self.close()
            return
        offered = self.scope.get("subprotocols", [])
        await self.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        process.begin()
        if SUBPROTOCOL not in offered:
            self.end(CloseCode.BAD_FRAME, "another subprotocol")
        try:
            live_sockets.arrive(self, settings.MAX_LIVE_SESSIONS)
        except Refused as refused:
            self.end(refused.code, refused.why)
        turns.arrives(self)
        self._life = asyncio.create_task(self._live(), name="live socket")
        self._overdue = asyncio.get_running_loop().call_later(
            WELCOME_WITHIN_S, self.end, CloseCode.ERROR, "no welcome in time"
        )

    async def _disconnect(self) -> None:
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)

    async def _live(self) -> None:
        """The whole life of an accepted socket; closes it with the right code at its end."""
        try:
            await self._serve()
        except ExceptionGroup as failures:  # a TaskGroup wraps whatever ended it
            refused = self._judged(failures)
            await self._say_goodbye(refused)
        finally:
            self._depart()

    def _depart(self) -> None:
        live_sockets.depart(self)
        self._welcomed()
        self.gone.set()

    async def _say_goodbye(self, refused: Refused) -> None:
        """What is queued still goes out, then the close frame with its code."""
        logger.info("live socket closed with %d: %s", refused.code, refused.why)
        observe(f"socket_closed:code_{refused.code:d}", 1)
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_WITHIN_S):
                while len(self._outbox):
                    await self.send(text_data=await self._outbox.take())
                if refused.code == CloseCode.RESTART:
                    await self.send(text_data=Drain(spread_ms=DRAIN_SPREAD_MS).model_dump_json())
        await self.close(code=int(refused.code))

    def _judged(self, failures: ExceptionGroup[Exception]) -> Refused:
        found = _leaves(failures)
        if refused := next((failure for failure in found if isinstance(failure, Refused)), None):
            return refused
        if any(isinstance(failure, InterviewGone) for failure in found):
            self._tell(ev.SessionEnded(reason="deleted"))
            return Refused(CloseCode.NO_CONSENT, "the interview is gone")
        if any(isinstance(failure, Superseded) for failure in found):
            return Refused(CloseCode.SUPERSEDED, "a newer page took over")
        if away := next((failure for failure in found if isinstance(failure, AWAY)), None):
            return Refused(CloseCode.ERROR, f"something it needs is away: {type(away).__name__}")
        logger.error("live socket failed", exc_info=failures)
        self._tell(ev.Problem(code="server_error"))
        return Refused(CloseCode.ERROR, "failed")

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._until_ended(), name="verdict")
            await self._attend(tasks, await self._hello())

    async def _until_ended(self) -> None:
        raise await self._verdict

    async def _hello(self) -> Hello:
        try:
            async with asyncio.timeout(HELLO_WITHIN_S):
                message = await self._inbox.get()
        except TimeoutError:
            raise Refused(CloseCode.IDLE, "no hello") from None
        if not isinstance(message, Hello):
            raise Refused(CloseCode.BAD_FRAME, "a message before the hello")
        self._rate = SAMPLE_RATE if message.rate is None else message.rate
        if self._rate not in RATES:
            self._tell(ev.Problem(code="rate_unsupported"))
            raise Refused(CloseCode.BAD_FRAME, f"audio at {self._rate} Hz; it may be {RATES}")
        return message

    async def _attend(self, tasks: asyncio.TaskGroup, hello: Hello) -> None:
        public_id: UUID = self.scope["url_route"]["kwargs"]["public_id"]
        session = self.scope["session"]
        await turns.enter(self)
        admission = await in_database(admitted, public_id=public_id, session=session, hello=hello)
        interview, limit = admission.public_hex, settings.MAX_LIVE_SESSIONS
        try:
            await live_sockets.enter(interview, self, limit, late=admission.finished)
            await self._work(tasks, hello, admission)
        finally:
            self.seat = None
            live_sockets.leave(interview, self)

    async def _work(self, tasks: asyncio.TaskGroup, hello: Hello, admission: Admission) -> None:
        entered = await in_database(seated, admission, hello.events_from)
        seat = self.seat = entered.seat
        taken_over.note(admission.public_hex, seat.generation)
        conductor = await self._conductor_for(admission, seat)
        try:
            welcome = await conductor.prepare(hello, entered.state)
            self._conductor = conductor
            await self._welcome(welcome, admission, entered.resume_token)
            await self._catch_up(conductor, welcome.snapshot.mode)
            tasks.create_task(self._sending(), name="sending")
            tasks.create_task(self._reading(conductor), name="reading")
            await conductor.run()
            await self._verdict  # the page leaves on its own; a late `analysis.ready` still reaches it
        finally:
            self._conductor = None
            await asyncio.shield(conductor.close())

    async def _conductor_for(self, admission: Admission, seat: Seat) -> Conductor:
        setting = AnswerSetting(
            engines=await self._room.engines(),
            language=admission.language,
            any_language=admission.any_language,
            subject=admission.subject,
            follow_ups=admission.follow_ups,
            observe=observe,
            rate=self._rate,
        )
        place = Place(
            seat=seat,
            spool_folder=settings.SPOOL_DIR / admission.public_hex,
            media_root=settings.MEDIA_ROOT,
            media_folder=admission.media_folder,
        )
        return Conductor(place, setting, spool_sync, self._tell)

    async def _welcome(self, welcome: Welcome, admission: Admission, resume_token: str) -> None:
        whole = welcome.model_copy(
            update={
                "resume_token": resume_token,
                "buffer_key": buffer_key(admission.interview),
                "server_time": time.time_ns() // 1_000_000,
            }
        )
        await self.send(text_data=whole.model_dump_json())
        self._welcomed()

    async def _catch_up(self, conductor: Conductor, mode: ev.Mode) -> None:
        engines = await self._room.engines()
        ready = ev.SessionReady(mode=mode, reason=engines.why_text if mode == "text" else "")
        await self.send(text_data=ready.model_dump_json())
        for event in conductor.missed():
            await self.send(text_data=event.model_dump_json())

    def _welcomed(self) -> None:
        turns.is_welcome(self)
        if self._overdue is not None:
            self._overdue.cancel()

    def _tell(self, message: Outgoing) -> None:
        # An acknowledgement is half of all that goes down: it wakes no task where nothing else waits.
        if isinstance(message, Ack) and self._flowing and self._direct is not None and not len(self._outbox):
            self._direct.say(encoded(message))
            return
        try:
            self._outbox.put(message)
        except Refused as refused:
            self.end(refused.code, refused.why)

    async def _sending(self) -> None:
        self._flowing = True
        while True:
            await self.send(text_data=await self._outbox.take())

    async def _reading(self, conductor: Conductor) -> None:
        while True:
            message = await self._inbox.get()
            if isinstance(message, Hello):
                raise Refused(CloseCode.BAD_FRAME, "a second hello")
            await conductor.handle(message)

    def told(self, message: Mapping[str, Any]) -> None:
        match message["type"]:
            case "interview.superseded" if self.seat and message.get("gen", 0) > self.seat.generation:
                self.end(CloseCode.SUPERSEDED, "a newer page took over elsewhere")
            case "interview.deleted":
                self.erased()
            case "interview.analysis":
                self._tell(ev.AnalysisReady())
            case "interview.corrected":
                self._tell(ev.AnswerCorrected(turn=message["turn"], late_s=message["late_s"]))


def _leaves(failures: ExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for failure in failures.exceptions:
        found += _leaves(failure) if isinstance(failure, ExceptionGroup) else [failure]
    return found
