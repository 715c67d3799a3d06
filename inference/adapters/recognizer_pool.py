"""The Recognizer over several speech servers and the model on this disk: who is asked, and who is asked next.

One line by priority in front of all servers. Knows no HTTP and no model.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from inference.adapters.pool_member import Member
from inference.adapters.waiting import Request, WaitingLine, require_speech
from inference.config import RemoteAsrConfig
from inference.observe import Observe, ignore
from inference.ports import (
    EngineBusy,
    EngineError,
    EngineUnavailable,
    Priority,
    Queueing,
    Recognizer,
    Speech,
    Transcript,
)

logger = logging.getLogger(__name__)

MAX_WAITING = 64
TRIES_AT_MOST = 3
# Of a caller's time, until somebody else is asked as well: he needs the rest of it.
PATIENCE = 0.6
NOBODY = "no speech server answers"
CLOSED = "the recogniser is closed"


@dataclass(eq=False, slots=True)
class _Errand:
    """One request on its way: whom it was asked of, and the doubted reading that would do."""

    request: Request
    tries: int = 0
    asked: set[Member | None] = field(default_factory=set)  # None: the local recogniser
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    local: Speech | None = None  # as the local recogniser was asked
    doubted: Transcript | None = None
    why: str = NOBODY

    @property
    def over(self) -> bool:
        return self.request.answer.done()

    @property
    def question(self) -> tuple[Speech, Priority]:
        """With what is left of the caller's time."""
        speech, arrived_s = self.request.speech, self.request.arrived_s
        if speech.answer_within_s is None:
            return speech, self.request.priority
        left_s = speech.answer_within_s - (time.monotonic() - arrived_s)
        return replace(speech, answer_within_s=max(0.0, left_s)), self.request.priority

    @property
    def may_go_on(self) -> bool:
        """A guess is worth one try, everything else a few."""
        return self.request.priority is not Priority.PARTIAL and self.tries < TRIES_AT_MOST

    def give(self, transcript: Transcript) -> None:
        if not self.over:
            self.request.answer.set_result(transcript)

    def refuse(self, why: str) -> None:
        if self.over:
            return
        if self.doubted is not None:
            self.give(self.doubted)
        else:
            self.request.answer.set_exception(EngineUnavailable(why))


class RecognizerPool:
    """Servers first, the one with the fewest requests in flight; the local recogniser when none is well.

    Belongs to the event loop that first uses it. Observes `asr_wait_s`, and each lesser way:
    `fallback:asr_server` (one is out), `asr_next` (failed, asked of another), `asr_slow` (asked of another as
    well), `asr_doubted` (a guard doubted the reading), `asr_local` (asked of the local one).
    """

    def __init__(
        self,
        servers: Sequence[Recognizer],
        local: Recognizer | None,
        config: RemoteAsrConfig,
        observe: Observe = ignore,
    ) -> None:
        self._members = [
            Member(number, server, config, observe, self._assign) for number, server in enumerate(servers, 1)
        ]
        self._local, self._observe = local, observe
        self.counters: Counter[str] = Counter()
        self._line = WaitingLine(MAX_WAITING, self.counters)
        self._errands: dict[Request, _Errand] = {}
        self._starting: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def busy(self) -> bool:
        """Without a server the local recogniser tells."""
        if any(member.well for member in self._members):
            return len(self._line) > 0 or not any(member.free for member in self._members)
        return isinstance(self._local, Queueing) and self._local.busy

    def hasten(self, speech: Speech) -> None:
        """In the pool's line, or in the local recogniser's if it went there."""
        self._line.hasten(speech)
        for errand in self._errands.values():
            if errand.request.speech is speech and errand.local is not None:
                self._hasten_local(errand.local)

    async def start(self) -> None:
        """Ask every server, and load the local model; wait for the latter only if no server answers."""
        self._require_open()
        if self._local is not None and self._starting is None:
            self._starting = asyncio.create_task(self._start_local(self._local), name="load local model")
        await asyncio.gather(*(member.check() for member in self._members if member.well))
        self._assign()
        if any(member.well for member in self._members):
            return
        if self._local is None:
            raise EngineUnavailable(NOBODY)
        await self._local.start()

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        require_speech(speech)
        self._require_open()
        loop = asyncio.get_running_loop()
        errand = _Errand(Request(speech, priority, loop.create_future()))
        self._line.put(errand.request)
        self._errands[errand.request] = errand
        hurry = None
        if speech.answer_within_s is not None:
            hurry = loop.call_later(speech.answer_within_s * PATIENCE, self._hurry, errand)
        try:
            self._assign()
            return await errand.request.answer
        finally:
            if hurry is not None:
                hurry.cancel()
            del self._errands[errand.request]
            for task in errand.tasks:
                task.cancel()

    async def aclose(self) -> None:
        self._closed = True
        for errand in list(self._errands.values()):
            errand.refuse(CLOSED)
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        engines: list[Member | Recognizer] = [
            *self._members,
            *([self._local] if self._local is not None else []),
        ]
        await asyncio.gather(*(engine.aclose() for engine in engines))

    def _require_open(self) -> None:
        if self._closed:
            raise EngineUnavailable(CLOSED)

    async def _start_local(self, local: Recognizer) -> None:
        try:
            await local.start()
        except EngineUnavailable as exc:
            logger.warning("no local recogniser behind the speech servers: %s", exc)

    def _assign(self) -> None:
        """Send off whoever can be: the first in line first."""
        if self._closed:
            return
        stays: list[Request] = []
        while self._may_assign() and (request := self._line.pop()):
            errand = self._errands[request]
            if not errand.tasks and not self._send(errand):
                stays.append(request)
        for request in stays:
            self._line.put(request)

    def _may_assign(self) -> bool:
        """A place is free, or waiting for one is in vain."""
        return any(m.free for m in self._members) or not any(self._waits_for(m) for m in self._members)

    def _waits_for(self, member: Member) -> bool:
        """Whether a request should wait for its place. A rest is too long where somebody else can hear."""
        return member.well and not (member.resting and self._local is not None)

    def _send(self, errand: _Errand) -> bool:
        """Ask somebody who was not asked; False when it has to wait for a place."""
        left = [member for member in self._members if member not in errand.asked]
        free = [member for member in left if member.free]
        if free:
            self._start(errand, min(free, key=lambda member: (member.in_flight, member.number)))
        elif any(self._waits_for(member) for member in left):
            return False
        elif not self._send_local(errand) and not errand.tasks:
            errand.refuse(errand.why)
        return True

    def _send_local(self, errand: _Errand) -> bool:
        if self._local is None or None in errand.asked:
            return False
        self._observe("fallback:asr_local", 1)
        self._start(errand, None)
        return True

    def _start(self, errand: _Errand, member: Member | None) -> None:
        if not errand.tries:
            self._observe("asr_wait_s", time.monotonic() - errand.request.arrived_s)
        errand.tries += 1
        errand.asked.add(member)
        task = asyncio.create_task(self._ask(errand, member))
        errand.tasks.add(task)
        if member is not None:
            member.in_flight += 1
        task.add_done_callback(lambda task: self._after(errand, task, member))

    def _after(self, errand: _Errand, task: asyncio.Task[None], member: Member | None) -> None:
        """Also of a task that was cancelled before it began."""
        _leave(errand, task, member)
        self._assign()

    async def _ask(self, errand: _Errand, member: Member | None) -> None:
        """Whatever happens, nobody is left waiting for an answer."""
        transcript = None
        try:
            transcript = await (self._ask_local(errand) if member is None else member.ask(*errand.question))
        except EngineBusy as exc:
            errand.why = str(exc)
            errand.asked.discard(member)  # it is well: there is no harm in asking it again
        except EngineError as exc:
            errand.why = str(exc)
        except Exception as exc:  # noqa: BLE001 - its text may hold words of an answer
            errand.why = f"the recogniser failed: {type(exc).__name__}"
            logger.error("the recogniser's own fault: %s", type(exc).__name__)  # noqa: TRY400
        finally:
            _leave(errand, _this_task(), member)
        if transcript is not None:
            self._take(errand, transcript)
        else:
            self._failed(errand)

    async def _ask_local(self, errand: _Errand) -> Transcript:
        if self._local is None:
            raise EngineUnavailable(NOBODY)
        errand.local, priority = errand.question
        return await self._local.transcribe(errand.local, priority)

    def _hasten_local(self, speech: Speech) -> None:
        if isinstance(self._local, Queueing):
            self._local.hasten(speech)

    def _failed(self, errand: _Errand) -> None:
        if errand.over or errand.tasks:
            return  # somebody else still works on it
        if errand.doubted is not None or not errand.may_go_on or self._closed:
            errand.refuse(errand.why)
            return
        self._again(errand, "asr_next")

    def _again(self, errand: _Errand, reason: str) -> None:
        if not self._send(errand):
            self._wait_again(errand)
        if not errand.over:
            self._observe(f"fallback:{reason}", 1)
            logger.warning("%s: an utterance is asked of another recogniser", reason)

    def _wait_again(self, errand: _Errand) -> None:
        try:
            self._line.put(errand.request)
        except EngineUnavailable as exc:
            errand.refuse(str(exc))

    def _take(self, errand: _Errand, transcript: Transcript) -> None:
        """A doubted reading is tried elsewhere while there is time; the less doubted of two is given."""
        first = errand.doubted
        if first is not None:
            errand.give(first if transcript.low_confidence and not first.low_confidence else transcript)
        elif transcript.untried and errand.may_go_on and self._in_time(errand):
            errand.doubted = transcript
            self._again(errand, "asr_doubted")
        else:
            errand.give(transcript)

    def _in_time(self, errand: _Errand) -> bool:
        within_s = errand.request.speech.answer_within_s
        return within_s is None or time.monotonic() - errand.request.arrived_s < within_s * PATIENCE

    def _hurry(self, errand: _Errand) -> None:
        """The caller's time runs out: a doubted reading goes out, what has none is asked elsewhere too."""
        if errand.over:
            return
        if errand.doubted is not None:
            errand.give(errand.doubted)
            return
        for member in errand.asked:
            if member is not None:
                member.note_late()
        if errand.may_go_on:
            self._hedge(errand)
        self._assign()

    def _hedge(self, errand: _Errand) -> None:
        left = [member for member in self._members if member.free and member not in errand.asked]
        if left:
            self._start(errand, min(left, key=lambda member: (member.in_flight, member.number)))
        elif not self._send_local(errand):
            return
        self._observe("fallback:asr_slow", 1)
        logger.warning("asr_slow: an utterance is asked of another recogniser as well")


def _leave(errand: _Errand, task: asyncio.Task[None], member: Member | None) -> None:
    """Give the place back, once."""
    if task in errand.tasks:
        errand.tasks.discard(task)
        if member is not None:
            member.in_flight -= 1


def _this_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("runs in a task")
    return task
