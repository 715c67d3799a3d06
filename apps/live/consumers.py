"""The WebSocket edge of one live interview: who may come in, bytes and messages in, events out.

No decisions about the interview are made here; they are the conductor's. Nothing is saved at a disconnect:
rows and spool always hold it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from apps.interviews.group import ring
from apps.interviews.selectors import standing_of_interview
from apps.interviews.services.entry import session_token
from apps.interviews.services.seats import InterviewGone, Seat, Superseded
from apps.live import group
from apps.live.admission import Admission, admitted, seated
from apps.live.answer import AnswerSetting
from apps.live.close_codes import CloseCode, Refused
from apps.live.conductor import HEARTBEAT_MS, IDLE_MS, Conductor, Place
from apps.live.engines import EngineRoom, process_engines
from apps.live.frames import decode_frame
from apps.live.messages import SUBPROTOCOL, FromPage, Hello, ServerHeartbeat, parse_message
from apps.live.origins import origin_allowed
from apps.live.outbox import Outbox, Outgoing
from apps.live.registry import Registry
from apps.live.rows import DATABASE_AWAY, in_database
from apps.live.spool_sync import SpoolSync
from apps.ops.metrics import observe
from inference import events as ev
from inference.audio import SAMPLE_RATE

logger = logging.getLogger(__name__)

HELLO_WITHIN_S = 5.0
TICK_S = 0.25
QUEUED_MESSAGES = 64  # text messages not yet handled; a page sends a few a minute

live_sockets = Registry()
spool_sync = SpoolSync()


class LiveConsumer(AsyncWebsocketConsumer):
    """One socket. Binary messages never await; text messages are handled in order by a task of their own."""

    # Channels' own subscription would end the socket with the layer; `group.listen` outlives it.
    channel_layer_alias = "none"

    def __init__(self, room: EngineRoom = process_engines, idle_s: float = IDLE_MS / 1_000) -> None:
        super().__init__()
        self.gone = asyncio.Event()
        self._room, self._idle_s = room, idle_s
        self._outbox = Outbox()
        self._inbox: asyncio.Queue[FromPage] = asyncio.Queue(QUEUED_MESSAGES)
        self._verdict: asyncio.Future[Refused] = asyncio.get_running_loop().create_future()
        self._conductor: Conductor | None = None
        self._heard_at = time.monotonic()
        self._life: asyncio.Task[None] | None = None

    async def dispatch(self, message: Mapping[str, Any]) -> None:
        # Channels hops to one shared database thread before every message; a slow query there would hold up
        # the audio of all sessions. Nothing on this path needs the database, so nothing hops.
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

    def _receive(self, raw: bytes | None, text: str | None) -> None:
        self._heard_at = time.monotonic()
        if self._verdict.done():
            return
        try:
            if raw is not None:
                self._take(raw)
            else:
                self._queue(parse_message(text or ""))
        except Refused as refused:
            self.end(refused.code, refused.why)

    def _take(self, raw: bytes) -> None:
        if self._conductor is None:
            raise Refused(CloseCode.BAD_FRAME, "audio before the welcome")
        self._conductor.take(decode_frame(raw))

    def _queue(self, message: FromPage) -> None:
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
        if SUBPROTOCOL not in offered:
            self.end(CloseCode.BAD_FRAME, "another subprotocol")
        self._life = asyncio.create_task(self._live(), name="live socket")

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
            self.gone.set()

    async def _say_goodbye(self, refused: Refused) -> None:
        """What is queued still goes out, then the close frame with its code."""
        logger.info("live socket closed with %d: %s", refused.code, refused.why)
        observe(f"socket_closed:code_{refused.code:d}", 1)
        while len(self._outbox):
            await self.send(text_data=await self._outbox.take())
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
            raise Refused(CloseCode.UNAUTHENTICATED, "no hello") from None
        if not isinstance(message, Hello):
            raise Refused(CloseCode.BAD_FRAME, "a message before the hello")
        if message.rate not in {None, SAMPLE_RATE}:
            raise Refused(CloseCode.BAD_FRAME, f"audio at {message.rate} Hz")
        return message

    async def _attend(self, tasks: asyncio.TaskGroup, hello: Hello) -> None:
        token = await in_database(session_token, self.scope["session"])
        public_id: UUID = self.scope["url_route"]["kwargs"]["public_id"]
        admission = await in_database(admitted, public_id=public_id, token=token, ticket=hello.ticket)
        try:
            await live_sockets.enter(admission.interview_id, self, settings.MAX_LIVE_SESSIONS)
            await self._work(tasks, hello, admission)
        finally:
            live_sockets.leave(admission.interview_id, self)

    async def _work(self, tasks: asyncio.TaskGroup, hello: Hello, admission: Admission) -> None:
        seat = await in_database(seated, admission)
        superseded = {"type": "interview.superseded", "gen": seat.generation}
        tasks.create_task(ring(admission.public_hex, superseded), name="supersede others")
        conductor = await self._conductor_for(admission, seat)
        try:
            welcome = await conductor.prepare(hello)
            self._conductor = conductor
            await self.send(text_data=welcome.model_dump_json())
            await self._catch_up(conductor, welcome.snapshot.mode)
            tasks.create_task(self._sending(), name="sending")
            tasks.create_task(self._reading(conductor), name="reading")
            tasks.create_task(self._beating(conductor, seat), name="heartbeat")
            tasks.create_task(
                group.listen(admission.public_hex, lambda message: self._told(message, seat)), name="group"
            )
            await conductor.run()
            await self._verdict  # the page leaves on its own; a late `analysis.ready` still reaches it
        finally:
            self._conductor = None
            await asyncio.shield(conductor.close())

    async def _conductor_for(self, admission: Admission, seat: Seat) -> Conductor:
        setting = AnswerSetting(
            engines=await self._room.engines(),
            language=admission.language,
            follow_ups=admission.follow_ups,
            observe=observe,
        )
        place = Place(
            seat=seat,
            spool_folder=settings.SPOOL_DIR / admission.public_hex,
            media_root=settings.MEDIA_ROOT,
            media_folder=admission.media_folder,
        )
        return Conductor(place, setting, spool_sync, self._tell)

    async def _catch_up(self, conductor: Conductor, mode: ev.Mode) -> None:
        engines = await self._room.engines()
        ready = ev.SessionReady(mode=mode, reason=engines.why_text if mode == "text" else "")
        await self.send(text_data=ready.model_dump_json())
        for event in conductor.missed():
            await self.send(text_data=event.model_dump_json())

    def _tell(self, message: Outgoing) -> None:
        try:
            self._outbox.put(message)
        except Refused as refused:
            self.end(refused.code, refused.why)

    async def _sending(self) -> None:
        while True:
            await self.send(text_data=await self._outbox.take())

    async def _reading(self, conductor: Conductor) -> None:
        while True:
            message = await self._inbox.get()
            if isinstance(message, Hello):
                raise Refused(CloseCode.BAD_FRAME, "a second hello")
            await conductor.handle(message)

    async def _beating(self, conductor: Conductor, seat: Seat) -> None:
        """Heartbeats, idleness and revocation: a page that lost its rights is closed within 5 s."""
        beat_at = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            conductor.tick()
            now = time.monotonic()
            if now - self._heard_at > self._idle_s:
                raise Refused(CloseCode.IDLE, f"nothing heard for {self._idle_s:.0f} s")
            if now - beat_at >= HEARTBEAT_MS / 1_000:
                beat_at = now
                self._tell(ServerHeartbeat())
                await self._check_rights(seat)

    async def _check_rights(self, seat: Seat) -> None:
        try:
            standing = await in_database(standing_of_interview, interview_id=seat.interview_id)
        except DATABASE_AWAY:
            return  # asked again at the next beat
        if standing is None:
            self._tell(ev.SessionEnded(reason="deleted"))
        if standing is None or not standing.consented:
            raise Refused(CloseCode.NO_CONSENT, "the consent is gone")
        if standing.generation != seat.generation:
            raise Superseded

    def _told(self, message: Mapping[str, Any], seat: Seat) -> None:
        """A message of the interview's group, from any process."""
        match message["type"]:
            case "interview.superseded" if message.get("gen", 0) > seat.generation:
                self.end(CloseCode.SUPERSEDED, "a newer page took over elsewhere")
            case "interview.deleted":
                self._tell(ev.SessionEnded(reason="deleted"))
                self.end(CloseCode.NO_CONSENT, "the interview was deleted")
            case "interview.analysis":
                self._tell(ev.AnalysisReady())


def _leaves(failures: ExceptionGroup[Exception]) -> list[Exception]:
    found: list[Exception] = []
    for failure in failures.exceptions:
        found += _leaves(failure) if isinstance(failure, ExceptionGroup) else [failure]
    return found
