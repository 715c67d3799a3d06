"""The server's side of one interview without its sockets: everything that decides is the product's own."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from apps.interviews.models import Interview
from apps.interviews.selectors import live_state
from apps.interviews.services.seats import Seat, resume_allowed, seat_take
from apps.live import conductor, intake, late, rows, spool
from apps.live.admission import Seated
from apps.live.answer import AnswerSetting
from apps.live.close_codes import CLOSE_TABLE, CloseCode, Refused
from apps.live.conductor import Conductor
from apps.live.expiry import interview_expired
from apps.live.frames import decode_frame
from apps.live.messages import Ack, Committed, FromPage, Gap, Hello, parse_message
from apps.live.outbox import Outgoing
from apps.live.recorder import Place
from apps.live.rows import in_database
from apps.live.spool import Spool, SpoolBusyError
from apps.live.spool_sync import SpoolSync, Watch
from inference.observe import ignore
from inference.ports import Engines
from tests.live.machine.clockwork import Clockwork
from tests.live.machine.disk import Disk, Killed
from tests.live.machine.page import Line

UNSYNCED_FRAMES = 6  # instead of 100: a full memory is met with few frames
LONGEST_S = 0.16  # eight frames: then the server ends the turn by itself
MEDIA = "acme/interview"


class HandSync(SpoolSync):
    """The same without its threads: a round is a call."""

    def add(self, spool: Spool, watch: Watch) -> None:
        self._watches[spool] = watch

    def round(self) -> None:
        for one, watch in self._due(float("inf")):
            self._sync(one, watch)


class Server:
    """One machine through all its lives; one socket at a time."""

    def __init__(self, interview: Interview, folder: Path) -> None:
        self.interview, self._folder, self._lives = interview, folder, 1
        self.down: deque[str] = deque()  # on their way to the page
        self.loop = Clockwork(self._around)
        self.disk = Disk(self._root())
        self._sync = HandSync()
        self._conductor: Conductor | None = None
        self._inbox: asyncio.Queue[FromPage] = asyncio.Queue()
        self._life: asyncio.Task[None] | None = None
        self.engines = Engines(None, None, None, why_text="nobody listens")

    @property
    def spools(self) -> Path:
        return self.disk.folder / "spool"

    @property
    def connected(self) -> bool:
        return self._life is not None and not self._life.done()

    def wav(self, number: int) -> Path:
        return self.disk.folder / "media" / MEDIA / f"{number:04d}.wav"

    def connect(self, hello: dict[str, Any], resume: str) -> None:
        self.cut()
        self._inbox = asyncio.Queue()
        way_in = {"resume": resume} if resume else {"ticket": "from a page"}
        message = parse_message(json.dumps({**hello, **way_in}))
        assert isinstance(message, Hello)
        self._life = self.loop.create_task(self._live(message))
        self.advance()

    def cut(self) -> None:
        """The socket is gone, and the server has noticed."""
        if self._life is not None:
            self._life.cancel()
            self.advance()
            assert self._life.done(), "a socket that was left goes on"
            self._life = None

    def advance(self, seconds: float = 0.0) -> None:
        self.loop.advance(seconds)
        failures = [one for one in self.loop.failures if not isinstance(one, Killed)]
        assert not failures, failures
        self._judge()

    def takes(self, line: Line) -> None:
        if self._conductor is None or not self.connected or self.disk.dead:
            return
        try:
            with suppress(Killed):
                self._take(self._conductor, line)
        except Refused as refused:
            self._refused(refused)
        self.advance()

    def _take(self, working: Conductor, line: Line) -> None:
        """As the consumer does: audio and gaps at once, the rest in order."""
        if isinstance(line, bytes):
            working.take(decode_frame(line))
        elif isinstance(message := parse_message(line), Gap):
            working.take_gap(message)
        else:
            self._inbox.put_nowait(message)

    def sync(self) -> None:
        with suppress(Killed):
            self._sync.round()
        self.advance()

    def tick(self) -> None:
        if self._conductor is not None and not self.disk.dead:
            with suppress(Killed):
                self._conductor.tick()
        self.advance()

    def expire(self) -> None:
        """Nobody came back for as long as one is waited for."""
        self.cut()
        folders = {"SPOOL_DIR": self.spools.parent, "MEDIA_ROOT": self.disk.folder / "media"}
        place = Place(Seat(0, 0), self.spools, folders["MEDIA_ROOT"], MEDIA)
        at_home = mock.patch(
            "apps.live.expiry._place",
            lambda interview, seat: Place(seat, place.spool_folder, place.media_root, place.media_folder),
        )
        with at_home, suppress(Killed):
            self.disk.around("expire", lambda: interview_expired(self.interview.pk))

    def die(self) -> None:
        """As kill -9 or a power cut does, unless it is dead already."""
        self.disk.die()

    def start_again(self, torn: int) -> None:
        """What the dead process still tries has no effect; the next one finds what was left."""
        assert self.disk.dead
        self.cut()
        self._lives += 1
        self.disk = self.disk.next_life(self._root(), torn)
        self._sync = HandSync()
        self.down.clear()

    def close(self) -> None:
        self.cut()
        for fd in self.disk.fds:
            os.close(fd)
        self.loop.close()

    @contextmanager
    def running(self) -> Iterator[None]:
        """The product's modules work on this machine's disk and clock."""
        clock = SimpleNamespace(monotonic=self.loop.time)
        with ExitStack() as stack:
            for module, name, value in (
                (spool, "os", _Here(self)),
                (spool, "LOCK_WAIT_S", -1.0),
                (spool, "MAX_UNSYNCED_FRAMES", UNSYNCED_FRAMES),
                (intake, "MAX_UNSYNCED_FRAMES", UNSYNCED_FRAMES),
                (intake, "MAX_ANSWER_S", LONGEST_S),
                (intake, "time", clock),
                (conductor, "time", clock),
                (late, "OPEN_AT_ONCE", 1),
                (rows, "close_old_connections", lambda: None),  # all rows of a run are taken back
            ):
                stack.enter_context(mock.patch.object(module, name, value))
            yield

    async def _live(self, hello: Hello) -> None:
        entered = await in_database(self._seated, hello)
        seat, token = entered.seat, entered.resume_token
        place = Place(seat, self.spools, self.disk.folder / "media", MEDIA)
        setting = AnswerSetting(self.engines, "en", follow_ups=False, observe=ignore)
        working = Conductor(place, setting, self._sync, self._tell)
        try:
            welcome = await working.prepare(hello, entered.state)
            self._conductor = working
            self._tell(welcome.model_copy(update={"resume_token": token}))
            for missed in working.missed():
                self._tell(missed)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read(working))
                await working.run()
                await asyncio.Event().wait()
        finally:
            self._conductor = None
            await asyncio.shield(working.close())

    async def _read(self, working: Conductor) -> None:
        while True:
            await working.handle(await self._inbox.get())

    def _seated(self, hello: Hello) -> Seated:
        interview = Interview.objects.get(pk=self.interview.pk)
        good = resume_allowed(interview=interview, raw=hello.resume)
        seat, token = seat_take(interview=interview, resume=hello.resume if good else "")
        state = live_state(interview_id=interview.pk, after_eid=hello.events_from)
        assert state is not None
        return Seated(seat, token, state)

    def _tell(self, message: Outgoing) -> None:
        name = {Ack: "ack", Committed: "committed"}.get(type(message), "other")
        self.disk.passes(f"before {name}")
        self.down.append(message.model_dump_json())
        self.disk.passes(f"after {name}")

    def _judge(self) -> None:
        """A socket may end because the machine died or a spool is still held; never for good."""
        if self._life is None or not self._life.done() or self._life.cancelled():
            return
        failure = self._life.exception()
        for one in _leaves(failure) if failure is not None else ():
            assert isinstance(one, Killed | SpoolBusyError), f"a socket failed: {one!r}"

    def _refused(self, refused: Refused) -> None:
        rule = CLOSE_TABLE[CloseCode(refused.code)]
        assert rule.retry, f"a page that keeps to the protocol is refused for good: {refused.why}"
        self.cut()

    def _around(self, name: str, work: Callable[[], Any]) -> Any:
        return self.disk.around(name, work)

    def _root(self) -> Path:
        root = self._folder / str(self._lives)
        root.mkdir(parents=True)
        return root


class _Here:
    """`os` for the spool: always the disk of the life that runs now."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server.disk, name)


def _leaves(failure: BaseException) -> list[BaseException]:
    if not isinstance(failure, BaseExceptionGroup):
        return [failure]
    return [leaf for one in failure.exceptions for leaf in _leaves(one)]
