"""The flow of one interview while one socket holds it: open a turn, work on it, keep it, open the next.

Knows questions, spools, sessions and rows; not sockets: messages for the page go to `tell`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from apps.interviews.selectors import LiveState, turn_ends_with
from apps.interviews.services.live import event_append, typed_answer_keep
from apps.live.answer import AnswerSetting, LiveAnswer
from apps.live.close_codes import CloseCode, Refused
from apps.live.closing import recorded, recording_kept
from apps.live.course import Step, next_step, unanswered
from apps.live.eventlog import EventLog
from apps.live.frames import FRAME_MS, Frame
from apps.live.intake import MAX_ANSWER_S
from apps.live.late import LateAnswers
from apps.live.messages import (
    Committed,
    End,
    Finish,
    FromPage,
    Gap,
    GoOn,
    Hello,
    Here,
    Input,
    Reload,
    Skip,
    Snapshot,
    TextAnswer,
    Thinking,
    Welcome,
)
from apps.live.opening import forget_kept, spool_found, turn_begun
from apps.live.outbox import Outgoing
from apps.live.recorder import Kept, Place, Verdict, verdict_record
from apps.live.rows import insist
from apps.live.spool import MAX_UNSYNCED_FRAMES
from apps.live.spool_sync import SpoolSync
from inference import events as ev
from inference.brief import AnswerOutcome
from inference.transcription import HeardUtterance, heard_in, spoken_language

logger = logging.getLogger(__name__)

HEARTBEAT_MS = 5_000
IDLE_MS = 30_000
REMIND_EVERY_S = 1.0
LEFT_ALONE = 2  # questions in a row that nobody answers: then nobody is asked another
PAUSED_WITHIN_S = 1_800.0  # of nobody coming back: the interview ends with what there is


class Conductor:
    """Call `prepare`, then `run`; `take` and `handle` meanwhile; `close` in any case."""

    def __init__(
        self, place: Place, setting: AnswerSetting, sync: SpoolSync, tell: Callable[[Outgoing], None]
    ) -> None:
        self._place, self._setting, self._sync, self._tell = place, setting, sync, tell
        self._log = EventLog(self._store, tell)
        self._answer: LiveAnswer | None = None
        self._late = LateAnswers(place, sync, tell, self._commit, setting.rate)
        self._committed: dict[int, str] = {}
        self._reminded_at = 0.0
        self._finishing = False
        self._held = False  # the candidate talks with a key held
        self._unanswered = 0
        self._next: Step | None = None  # not to be asked before somebody is there
        self._somebody = asyncio.Event()
        self._ended = False
        self._missed: list[Outgoing] = []

    async def prepare(self, hello: Hello, state: LiveState) -> Welcome:
        """Open the turn to go on with, from rows and spool. Raises Superseded, OSError."""
        self._ended = state.ended
        closed = [turn for turn in state.course.asked if turn.status != "open"]
        self._committed = {turn.number: turn.sha256 for turn in closed if turn.audio_complete}
        if self._committed:
            await asyncio.to_thread(forget_kept, self._place, self._committed)
        await self._late.offer(turn for turn in closed if not turn.audio_complete)
        self._choose_language(heard_in(state.events))
        step = next_step(state.course)
        announced: Sequence[ev.Event] = ()
        self._unanswered = unanswered(state.course)
        begun = step is not None and any(turn.number == step.number for turn in state.course.asked)
        if step is not None and self._is_left_alone and not begun:
            self._next, announced = step, [ev.SessionPaused()]
        elif step is not None:
            announced = await self._open(step, state)
            self._compare(hello)
            if self._answer is not None and not self._answer.over:
                self._answer.intake.hold()
        lost = hello.events_from > state.last_eid
        self._missed = [Reload()] if lost else [*state.after(hello.events_from), *announced]
        return self._welcome(finished=step is None)

    def missed(self) -> list[Outgoing]:
        """Stored events that the page does not show yet; after `prepare`, once.

        `reload` when it shows some that are not stored: what it has is of another past.
        """
        missed, self._missed = self._missed, []
        return missed

    async def run(self) -> None:
        """Until the interview is over and its audio here. Raises Superseded when a newer socket took over."""
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._log.run(), name="event log")
            completing = tasks.create_task(self._late.run(), name="late answers")
            await self._conduct()
            await self._log.settle()
            await self._late.drained()
            completing.cancel()
            writing.cancel()

    def take(self, frame: Frame) -> None:
        """One audio frame. Never waits. Raises Refused."""
        if self._answer is not None and frame.answer == self._answer.number:
            self._answer.take(frame)
        elif self._late.holds(frame.answer):
            self._late.take(frame)
        elif frame.answer in self._committed:
            self._remind(frame.answer)
        else:
            raise Refused(CloseCode.BAD_FRAME, f"answer {frame.answer} is not open")

    def take_gap(self, gap: Gap) -> None:
        """In the place of the frames that it stands for, so as quickly. Raises Refused."""
        if self._answer is not None and gap.answer == self._answer.number:
            self._answer.take_gap(gap)
        elif self._late.holds(gap.answer):
            self._late.take_gap(gap)
        elif gap.answer in self._committed:
            self._remind(gap.answer)

    async def handle(self, message: FromPage) -> None:
        """One text message after the hello. What comes for another turn than the open one changes nothing.

        Only a typed answer is then refused aloud: nobody may lose one without knowing.
        """
        match message:
            case Gap():
                self.take_gap(message)
            case End(answer=number) if self._late.holds(number):
                self._late.end(message)
            case End(answer=number) if number in self._committed:
                self._tell(Committed(answer=number, sha256=self._committed[number]))
            case Finish() | GoOn() | Input():
                self._steer(message)
            case TextAnswer():
                await self._take_text(message.answer, message.text.strip())
            case End() | Skip() | Thinking() | Here():
                if self._answer is not None and message.answer == self._answer.number:
                    _to_answer(self._answer, message)

    def tick(self) -> None:
        """Called about every second."""
        self._late.tick()
        if self._answer is not None:
            self._answer.intake.reopen()

    async def close(self) -> None:
        """Let go of the spools; what they hold stays for the next socket. Call after `run` has ended."""
        await self._late.close()
        if self._answer is not None:
            self._answer.seal()
            self._sync.discard(self._answer.spool)
            await asyncio.to_thread(self._answer.spool.close)

    async def _take_text(self, number: int, text: str) -> None:
        """A typed answer: the first one for an open turn counts."""
        answer = self._answer if self._answer is not None and self._answer.number == number else None
        if answer is not None:
            await answer.caught_up()  # its text follows what was said
        if answer is not None and answer.answer_in_text(text):
            await insist(typed_answer_keep, seat=self._place.seat, number=number, text=text)
            answer.text_kept()
        elif not await self._is_taken(answer, number, text):
            self._tell(ev.Problem(code="too_late"))

    async def _is_taken(self, answer: LiveAnswer | None, number: int, text: str) -> bool:
        """Whether this very text was accepted before: a page that missed `turn.ended` says it again."""
        if answer is not None:
            return answer.typed == text
        interview_id = self._place.seat.interview_id
        return await insist(turn_ends_with, interview_id=interview_id, number=number, typed=text)

    def _choose_language(self, heard: Sequence[HeardUtterance]) -> None:
        """The first answer that tells which language the candidate speaks tells it for the next ones."""
        setting = self._setting
        if setting.any_language and setting.chosen is None:
            self._setting = replace(setting, chosen=spoken_language(heard))

    def _finish(self) -> None:
        self._finishing = True
        self._somebody.set()
        if self._answer is not None:
            self._answer.when_caught_up(partial(self._finish_answer, self._answer))

    def _finish_answer(self, answer: LiveAnswer) -> None:
        if answer is not self._answer:
            return
        if answer.may_hold_speech:
            answer.done()
        else:
            answer.leave()  # what came last may not be heard yet

    def _steer(self, message: Finish | GoOn | Input) -> None:
        match message:
            case Finish():
                self._finish()
            case GoOn():
                self._somebody.set()
            case Input():
                self._hold(message.mode == "hold")

    def _hold(self, held: bool) -> None:
        self._held = held
        if self._answer is not None:
            self._answer.hold(held)

    @property
    def _is_left_alone(self) -> bool:
        return self._unanswered >= LEFT_ALONE

    async def _conduct(self) -> None:
        if (step := self._next) is not None:
            await self._wait_for_somebody()
            await self._ask(step)
        while (answer := self._answer) is not None:
            outcome = await answer.run()
            self._choose_language(outcome.utterances)
            await self._log.settle()
            step = await self._keep(answer, outcome)
            self._unanswered = self._unanswered + 1 if outcome.end_reason == "no_answer" else 0
            if step is not None and self._is_left_alone and not self._finishing:
                self._somebody.clear()
                self._tell(ev.SessionPaused())
                await self._wait_for_somebody()
            if step is not None:
                await self._ask(step)
        if not self._ended:
            self._log.put(ev.SessionEnded(reason="completed"))

    async def _ask(self, step: Step) -> None:
        for event in await self._open(step):
            self._tell(event)
        if self._answer is not None:
            self._answer.intake.acknowledge()  # the welcome's window may have been 0, and a page goes by it
        if self._finishing:  # said while there was no open turn to end
            self._finish()

    async def _wait_for_somebody(self) -> None:
        """Two questions met nobody: the next one is not wasted on an empty chair."""
        try:
            async with asyncio.timeout(PAUSED_WITHIN_S):
                await self._somebody.wait()
        except TimeoutError:
            logger.info("interview left while it was paused")
            self._setting.observe("left_paused", 1)
            self._finishing = True
        self._unanswered, self._next = 0, None

    async def _keep(self, answer: LiveAnswer, outcome: AnswerOutcome) -> Step | None:
        """Recording and rows; a complete answer is then let go, of another the rest may come late."""
        answer.seal()
        kept = await recording_kept(self._place, answer.spool, answer.intake.unkept)
        verdict = Verdict(outcome, kept, answer.rev, answer.complete, last_turn=self._finishing)
        record = partial(verdict_record, seat=self._place.seat, verdict=verdict)
        step = await recorded(self._place, kept, record)
        self._answer = None
        if answer.complete:
            self._compare_checksums(answer, kept)
            self._commit(answer.number, kept.recording.sha256)
            self._sync.discard(answer.spool)
            await asyncio.to_thread(answer.spool.remove)
        else:
            logger.warning("answer %d closed before the page had handed it in", answer.number)
            self._setting.observe("answer_incomplete", 1)
            self._late.adopt(answer, kept)
        return step

    def _commit(self, number: int, sha256: str) -> None:
        self._committed[number] = sha256
        self._tell(Committed(answer=number, sha256=sha256))

    async def _open(self, step: Step, state: LiveState | None = None) -> Sequence[ev.Event]:
        """Work on `step` from here on, a turn that `state` holds or a new one: returns what announces it."""
        asked = state.course.asked if state is not None else ()
        resumed = next((turn for turn in asked if turn.number == step.number), None)
        announced: Sequence[ev.Event] = ()
        if resumed is None or state is None:
            spool, announced = await turn_begun(self._place, step)
            past: Sequence[ev.Event] = ()
        else:
            spool = await spool_found(self._place, step.number, resumed.epoch)
            past = state.of_turn(step.number)
        answer = LiveAnswer(step, spool, self._setting, self._tell, self._log.put, past)
        answer.restore(resumed.typed if resumed is not None else "")
        answer.watch(self._sync)
        answer.hold(self._held)
        self._answer = answer
        return announced

    def _compare(self, hello: Hello) -> None:
        """What was acknowledged stands, whatever the page claims; only without any of it is `next` 0."""
        answer = self._answer
        if answer is None or hello.answer != answer.number:
            return
        answer.expect(hello.have_to)
        if hello.epoch not in {None, answer.spool.epoch}:
            logger.warning("answer %d: the page's epoch is not its spool's", answer.number)

    def _compare_checksums(self, answer: LiveAnswer, kept: Kept) -> None:
        if not answer.matches(kept.recording.sha256):
            logger.error("answer %d: the page's checksum is not the recording's", answer.number)
            self._setting.observe("checksum_mismatch", 1)

    def _welcome(self, *, finished: bool) -> Welcome:
        answer = self._answer
        engines = self._setting.engines
        heard = engines.voice is not None and engines.recognizer is not None
        return Welcome(
            epoch=answer.spool.epoch if answer else "",
            gen=self._place.seat.generation,
            answer=answer.number if answer else 0,
            next=answer.spool.next if answer else 0,
            window=answer.intake.window if answer else MAX_UNSYNCED_FRAMES,
            frame_ms=FRAME_MS,
            hb_ms=HEARTBEAT_MS,
            idle_ms=IDLE_MS,
            max_answer_s=MAX_ANSWER_S,
            late=self._late.offers(),
            snapshot=Snapshot(
                status="finished" if finished else "live",
                mode="voice" if heard else "text",
                turn=answer.snapshot() if answer else None,
            ),
        )

    def _remind(self, number: int) -> None:
        """A page that missed `committed` still sends: tell it again, not for every frame."""
        now = time.monotonic()
        if now - self._reminded_at >= REMIND_EVERY_S:
            self._reminded_at = now
            self._tell(Committed(answer=number, sha256=self._committed[number]))

    async def _store(self, events: Sequence[ev.Event]) -> Sequence[ev.Event]:
        return await insist(event_append, seat=self._place.seat, events=events)


def _to_answer(answer: LiveAnswer, message: End | Skip | Thinking | Here) -> None:
    match message:
        case End():
            answer.end(message)
        case Skip():
            answer.skip()
        case Thinking():
            answer.thinking()
        case Here():
            answer.here()
