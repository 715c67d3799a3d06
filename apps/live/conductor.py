"""The flow of one interview while one socket holds it: open a turn, work on it, keep it, open the next.

Knows questions, spools, sessions and rows; not sockets: messages for the page go to `tell`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from apps.interviews.models import Turn
from apps.interviews.selectors import (
    LiveState,
    live_state,
    standing_of_interview,
    turn_ends_with,
)
from apps.interviews.services.live import (
    event_append,
    turn_epoch_keep,
    turn_open,
    typed_answer_keep,
)
from apps.interviews.services.seats import InterviewGone, Seat, Superseded
from apps.live.answer import AnswerSetting, LiveAnswer
from apps.live.close_codes import CloseCode, Refused
from apps.live.course import Step, next_step
from apps.live.eventlog import EventLog
from apps.live.frames import FRAME_MS, Frame
from apps.live.intake import MAX_ANSWER_S
from apps.live.messages import (
    Committed,
    End,
    Finish,
    FromPage,
    Hello,
    Reload,
    Skip,
    Snapshot,
    TextAnswer,
    Thinking,
    Welcome,
)
from apps.live.outbox import Outgoing
from apps.live.recorder import Kept, Verdict, audio_keep, verdict_record
from apps.live.rows import in_database, insist
from apps.live.spool import MAX_UNSYNCED_FRAMES, Spool, open_spool
from apps.live.spool_sync import SpoolSync
from inference import events as ev
from inference.session import AnswerOutcome

logger = logging.getLogger(__name__)

HEARTBEAT_MS = 5_000
IDLE_MS = 30_000
AUDIO_RETRY_S = 1.0
REMIND_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where one interview's rows and files are. `media_folder` is relative to `media_root`."""

    seat: Seat
    spool_folder: Path
    media_root: Path
    media_folder: str


class Conductor:
    """Call `prepare`, then `run`; `take` and `handle` meanwhile; `close` in any case."""

    def __init__(
        self, place: Place, setting: AnswerSetting, sync: SpoolSync, tell: Callable[[Outgoing], None]
    ) -> None:
        self._place, self._setting, self._sync, self._tell = place, setting, sync, tell
        self._log = EventLog(self._store, tell)
        self._answer: LiveAnswer | None = None
        self._committed: dict[int, str] = {}
        self._reminded_at = 0.0
        self._finishing = False
        self._ended = False
        self._missed: list[Outgoing] = []

    async def prepare(self, hello: Hello) -> Welcome:
        """Open the turn to go on with, from rows and spool. Raises Superseded, OSError."""
        interview_id = self._place.seat.interview_id
        state = await in_database(live_state, interview_id=interview_id, after_eid=hello.events_from)
        if state is None:
            raise InterviewGone
        self._ended = state.ended
        self._committed = {turn.number: turn.sha256 for turn in state.course.asked if turn.status != "open"}
        step = next_step(state.course)
        announced: list[ev.Event] = []
        if step is not None:
            announced = await self._open(step, state)
            self._compare_epochs(hello)
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
        """Until the interview is over. Raises Superseded when a newer socket took over."""
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._log.run(), name="event log")
            await self._conduct()
            await self._log.settle()
            writing.cancel()

    def take(self, frame: Frame) -> None:
        """One audio frame. Never waits. Raises Refused."""
        if self._answer is not None and frame.answer == self._answer.number:
            self._answer.take(frame)
        elif frame.answer in self._committed:
            self._remind(frame.answer)
        else:
            raise Refused(CloseCode.BAD_FRAME, f"answer {frame.answer} is not open")

    async def handle(self, message: FromPage) -> None:
        """One text message after the hello. What comes for another turn than the open one changes nothing.

        Only a typed answer is then refused aloud: nobody may lose one without knowing.
        """
        match message:
            case End(answer=number) if number in self._committed:
                self._tell(Committed(answer=number, sha256=self._committed[number]))
            case Finish():
                self._finish()
            case TextAnswer():
                await self._take_text(message.answer, message.text.strip())
            case End() | Skip() | Thinking():
                if self._answer is not None and message.answer == self._answer.number:
                    _to_answer(self._answer, message)

    def tick(self) -> None:
        """Called a few times a second."""
        if self._answer is not None:
            self._answer.intake.reopen()

    async def close(self) -> None:
        """Let go of the spool; what it holds stays for the next socket. Call after `run` has ended."""
        if self._answer is not None:
            self._answer.seal()
            self._sync.discard(self._answer.spool)
            await asyncio.to_thread(self._answer.spool.close)

    async def _take_text(self, number: int, text: str) -> None:
        """A typed answer: the first one for an open turn counts."""
        answer = self._answer if self._answer is not None and self._answer.number == number else None
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

    def _finish(self) -> None:
        self._finishing = True
        if self._answer is None:
            return
        if self._answer.holds_speech:
            self._answer.done()
        else:
            self._answer.skip()

    async def _conduct(self) -> None:
        while (answer := self._answer) is not None:
            outcome = await answer.run()
            await self._log.settle()
            step = await self._keep(answer, outcome)
            if step is not None:
                for event in await self._open(step):
                    self._tell(event)
        if not self._ended:
            self._log.put(ev.SessionEnded(reason="completed"))

    async def _keep(self, answer: LiveAnswer, outcome: AnswerOutcome) -> Step | None:
        """Recording, rows, `committed`, and only then is the spool let go."""
        answer.seal()
        kept = await self._keep_audio(answer)
        verdict = Verdict(outcome, kept, answer.rev, last_turn=self._finishing)
        try:
            step = await insist(verdict_record, seat=self._place.seat, verdict=verdict)
        except Superseded:
            await insist(self._forget_if_erased, kept)
            raise
        if not answer.matches(kept.recording.sha256):
            logger.error("answer %d: the page's checksum is not the recording's", answer.number)
            self._setting.observe("checksum_mismatch", 1)
        self._committed[answer.number] = kept.recording.sha256
        self._answer = None
        self._tell(Committed(answer=answer.number, sha256=kept.recording.sha256))
        self._sync.discard(answer.spool)
        await asyncio.to_thread(answer.spool.remove)
        return step

    async def _keep_audio(self, answer: LiveAnswer) -> Kept:
        """Again until the disk takes it; meanwhile the page knows and the spool holds it."""
        while True:
            try:
                return await asyncio.to_thread(
                    audio_keep,
                    answer.spool,
                    self._place.media_root,
                    self._place.media_folder,
                    answer.number,
                )
            except OSError as exc:
                logger.warning("recording of answer %d not written: %s", answer.number, exc.strerror)
                answer.intake.unkept()
            await asyncio.sleep(AUDIO_RETRY_S)

    async def _open(self, step: Step, state: LiveState | None = None) -> list[ev.Event]:
        """Work on `step` from here on, a turn that `state` holds or a new one: returns what announces it."""
        spool = await asyncio.to_thread(open_spool, self._place.spool_folder, step.number)
        asked = state.course.asked if state is not None else ()
        resumed = next((turn for turn in asked if turn.number == step.number), None)
        past: Sequence[ev.Event] = ()
        pcm: list[bytes] = []
        announced: list[ev.Event] = []
        if resumed is None or state is None:
            announced = await self._announce(step, spool)
        else:
            past = state.of_turn(step.number)
            pcm = await asyncio.to_thread(list, spool.payloads())
            if resumed.epoch != spool.epoch:
                await insist(turn_epoch_keep, seat=self._place.seat, number=step.number, epoch=spool.epoch)
        answer = LiveAnswer(step, spool, self._setting, self._tell, self._log.put, past)
        answer.restore(pcm, resumed.typed if resumed is not None else "")
        answer.watch(self._sync)
        self._answer = answer
        return announced

    async def _announce(self, step: Step, spool: Spool) -> list[ev.Event]:
        try:
            return await insist(
                turn_open, seat=self._place.seat, turn=_turn(step, spool), events=step.announced()
            )
        except Superseded:
            await asyncio.to_thread(spool.remove if spool.next == 0 else spool.close)
            raise

    def _forget_if_erased(self, kept: Kept) -> None:
        """An interview erased while its answer was written leaves no recording behind."""
        if kept.path and standing_of_interview(interview_id=self._place.seat.interview_id) is None:
            wav = self._place.media_root / kept.path
            wav.unlink(missing_ok=True)
            with suppress(OSError):
                wav.parent.rmdir()

    def _compare_epochs(self, hello: Hello) -> None:
        """What was acknowledged stands, whatever the page claims; only without any of it is `next` 0."""
        answer = self._answer
        if answer is None or hello.answer != answer.number or hello.epoch in {None, answer.spool.epoch}:
            return
        logger.warning("answer %d: the page's epoch is not its spool's", answer.number)

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


def _to_answer(answer: LiveAnswer, message: End | Skip | Thinking) -> None:
    match message:
        case End():
            answer.end(message)
        case Skip():
            answer.skip()
        case Thinking():
            answer.thinking()


def _turn(step: Step, spool: Spool) -> Turn:
    return Turn(
        number=step.number,
        question_id=step.question.id,
        kind=step.kind,
        question_text=step.text,
        epoch=spool.epoch,
    )
