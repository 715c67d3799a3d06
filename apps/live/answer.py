"""One open answer: its spool, its session, and how both end. Knows no sockets and no rows."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from apps.live.course import Step
from apps.live.frames import Frame
from apps.live.intake import MAX_ANSWER_S, Intake, watched
from apps.live.messages import End, Gap, OpenTurn
from apps.live.outbox import Outgoing
from apps.live.replay import Piece, Replay, ahead_s, cut_from, cut_to, turns
from apps.live.spool import Spool
from apps.live.spool_scan import LostRun
from apps.live.spool_sync import SpoolSync
from inference import events as ev
from inference.assessment import Language
from inference.audio import SAMPLE_RATE, AudioChunk, MissingWhy
from inference.brief import AnswerBrief, AnswerOutcome, highest_rev, score_stands, waits_before
from inference.observe import Observe
from inference.pauses import OwnPauses
from inference.ports import Engines
from inference.session import AnswerSession
from inference.transcription import Missing, heard_before, missing_before

logger = logging.getLogger(__name__)

END_WITHIN_S = 3.0  # after the server ended the turn: the page's last frames and its `end`
REST_WITHIN_S = 15.0  # after an `end` whose last frames are still missing, without one of them coming
CATCH_UP_WITHIN_S = MAX_ANSWER_S / 4  # the longest answer at the rate of catching up


@dataclass(frozen=True, slots=True)
class AnswerSetting:
    """What an answer is worked on with. `language` is the interview's, `rate` what the page's frames have.

    With `any_language` the candidate may speak another: `chosen`, None before it is known. `subject` is what
    the interview is about.
    """

    engines: Engines
    language: Language
    follow_ups: bool
    observe: Observe
    rate: int = SAMPLE_RATE
    any_language: bool = False
    chosen: Language | None = None
    subject: str = ""
    own: OwnPauses = field(default_factory=OwnPauses)  # what the candidate's answers have told of them


class LiveAnswer:
    """Made on the socket's loop. `tell` queues messages for the page, `log` takes the session's events.

    `past` are the turn's durable events: the session goes on from them.
    """

    def __init__(
        self,
        step: Step,
        spool: Spool,
        setting: AnswerSetting,
        tell: Callable[[Outgoing], None],
        log: Callable[[ev.Event], None],
        past: Sequence[ev.Event] = (),
    ) -> None:
        self.step, self.spool = step, spool
        self.rev = highest_rev(past)
        self.holds_speech = any(isinstance(event, ev.TranscriptFinal) and event.text for event in past)
        self._past, self._log = past, log
        self._ended = next((event for event in past if isinstance(event, ev.TurnEnded)), None)
        self._brief = _brief(step, setting, past, self._ended)
        self._session = AnswerSession(setting.engines, self._brief, observe=setting.observe, own=setting.own)
        self.intake = Intake(spool, tell, self, rate=setting.rate)
        self._replay: Replay | None = None  # while the session is told what came before
        self._caught_up = asyncio.Event()
        self._caught_up.set()
        self._told_again = False
        self._typed_before = ""
        self._done_meanwhile = False
        self._then: list[Callable[[], None]] = []
        self._over = asyncio.Event()  # the server has ended the turn
        self._skipped = False
        self.typed = ""  # what ended the turn, if it was typed
        self._text_kept = asyncio.Event()
        self._handed_in = asyncio.Event()  # the page has: `end` came and every frame before it
        self.last_word: End | None = None
        self._held_to = 0  # the page said that it holds the seqs before
        self._done = False  # to be ended once they are here
        self._late_end: asyncio.TimerHandle | None = None
        self._sealed = False
        self.complete = False  # with the seal: nothing of it is still to come
        self.turned_away = False  # something came after the seal
        self._wake: Callable[[], None] = lambda: None  # before `watch`, nobody waits for frames
        if self._ended is not None:
            self._note_end(self._ended)

    @property
    def over(self) -> bool:
        return self._over.is_set()

    @property
    def number(self) -> int:
        return self.step.number

    def watch(self, sync: SpoolSync) -> None:
        """Have the spool synced and the page told, on this loop."""
        self._wake = sync.wake
        watched(self.intake, sync)

    def restore(self, typed: str) -> None:
        """Have `run` bring a fresh session to where the last one was.

        It is told the audio after the last final, then what was typed; what comes meanwhile waits behind it.
        """
        heard_to = round(self._brief.heard_to_s * SAMPLE_RATE)
        if self.spool.samples or self.spool.lost or typed:
            self._replay = Replay(self.spool, heard_to)
            self._typed_before = typed
            self._caught_up.clear()

    async def caught_up(self) -> None:
        """Wait until the session has been told everything that came before now."""
        await self._caught_up.wait()

    def when_caught_up(self, then: Callable[[], None]) -> None:
        """Call `then` at once, or as soon as the session has been told what came before."""
        if self._replay is None:
            then()
        else:
            self._then.append(then)

    def expect(self, held_to: int) -> None:
        """The page holds frames up to `held_to` (exclusive): none of them is silence."""
        self._held_to = held_to

    @property
    def may_hold_speech(self) -> bool:
        return self.holds_speech or self._told_again or self.spool.next < self._held_to

    def take(self, frame: Frame) -> None:
        if self._ignores(frame.seq):
            return
        self.intake.take(frame)
        self._took()

    def take_gap(self, gap: Gap) -> None:
        if self._ignores(gap.from_):
            return
        self.intake.take_gap(gap)
        self._took()

    def hear(self, chunk: AudioChunk) -> None:
        """A spool begun anew brings once more what is final already: the session goes on behind it."""
        if self._replay is not None:
            self._replay.came(chunk)
            return
        fresh = cut_from(chunk, round(self._brief.heard_to_s * SAMPLE_RATE))
        if fresh.pcm and not self._over.is_set():
            self._session.push(fresh)

    def miss(self, seconds: float, why: MissingWhy) -> None:
        if self._replay is not None:
            return  # the spool knows of it, and the replay looks there
        missing = Missing(round(self.spool.samples / SAMPLE_RATE, 3), seconds, why)
        if not self._over.is_set() and missing.at_s >= self._brief.heard_to_s:
            self._session.hole(seconds, why)
        else:
            self._tell_missing(missing)

    def full(self) -> None:
        self._finish_session()

    def end(self, end: End) -> None:
        """The page's last word on this answer; said again it changes nothing."""
        self.last_word = end
        self._check_handed_in()
        if self._handed_in.is_set() or self._sealed:
            return
        # Frames before last_seq are missing: they are asked for, and waited for within bounds.
        self.intake.ask_again()
        self._begin_waiting()

    def skip(self) -> None:
        self._session.skip()

    def leave(self) -> None:
        self._session.leave()

    def done(self) -> None:
        """End the turn as soon as the frames that the page holds are here, or do not come."""
        self._done = True
        self._check_handed_in()
        self._begin_waiting()

    def thinking(self) -> None:
        self._session.thinking(self.spool.samples / SAMPLE_RATE)

    def here(self) -> None:
        self._session.here(self.spool.samples / SAMPLE_RATE)

    def hold(self, held: bool) -> None:
        self._session.hold(held)

    def answer_in_text(self, text: str) -> bool:
        """End the turn with a typed answer; nobody is told before `text_kept`. False when it was over."""
        if not self._session.answer_in_text(text):
            return False
        self.holds_speech = True
        self.typed = text
        return True

    def text_kept(self) -> None:
        """The row holds the typed answer: a crash cannot lose it any more."""
        self._text_kept.set()

    async def run(self) -> AnswerOutcome:
        """Until the turn is over, judged, and handed in by the page or given up waiting for."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(), name=f"events of answer {self.number}")
            tasks.create_task(self._catch_up(), name=f"replay of answer {self.number}")
            working = tasks.create_task(self._work(), name=f"answer {self.number}")
            tasks.create_task(self._wait_for_page(), name=f"end of answer {self.number}")
        return working.result()

    def seal(self) -> None:
        """From now on the recording is what it is; frames still on their way are late."""
        self._sealed = True
        self.complete = bool(self.typed) or self._skipped or self._handed_in.is_set()
        if self._late_end is not None:
            self._late_end.cancel()

    def snapshot(self) -> OpenTurn:
        """The question on the table. Time runs from the first words heard, on the audio clock."""
        finals = [event.start_s for event in self._past if isinstance(event, ev.TranscriptFinal)]
        heard_s = self.spool.samples / SAMPLE_RATE
        return OpenTurn(
            turn=self.number,
            text=self.step.text,
            number=self.step.place,
            total=self.step.total,
            kind=self.step.kind,
            limit_s=self.step.question.limit_s,
            elapsed_s=round(max(0.0, heard_s - finals[0]), 1) if finals else 0.0,
        )

    def matches(self, sha256: str) -> bool:
        """Whether the page's own checksum, where it sent one, is the recording's.

        A turn that was skipped or given up is sealed before the page's last frames, and one without frames
        has no recording: nothing to compare. Of one at another rate the page's is over other bytes.
        """
        if self.last_word is None or self.last_word.last_seq < 0 or not self._handed_in.is_set():
            return True
        return self.intake.converts or self.last_word.sha256 in {"", sha256}

    async def _work(self) -> AnswerOutcome:
        if self._ended is not None:
            await self._caught_up.wait()  # a session of an ended turn hears what it was told before it began
        return await self._session.run()

    async def _catch_up(self) -> None:
        replay, began = self._replay, time.monotonic()
        if replay is None:
            return

        async def paced() -> None:
            await asyncio.sleep(ahead_s(replay.told_s, time.monotonic() - began))

        async with turns.turn(self._heard_enough):
            began = time.monotonic()
            async with aclosing(replay.pieces(paced)) as pieces:
                async for piece in pieces:
                    self._hear_again(piece)
                    if self._heard_enough():
                        break
        for run in replay.untold:
            self._miss_again(run)
        self._go_on()  # nothing was awaited since the last piece: the next frame is the session's

    def _heard_enough(self) -> bool:
        """Whether this session has ended the turn: it hears nothing more of it."""
        return self._over.is_set() and self._ended is None

    def _hear_again(self, piece: Piece) -> None:
        """A turn that an earlier session ended is heard up to its end, not beyond."""
        until = None if self._ended is None else round(self._ended.at_s * SAMPLE_RATE)
        self._told_again = True
        if isinstance(piece, LostRun):
            self._miss_again(piece)
        elif not self._heard_enough() and (until is None or piece.start < until):
            self._session.push(cut_to(piece, until))

    def _go_on(self) -> None:
        self._replay = None
        if self._typed_before and self.answer_in_text(self._typed_before):
            self.text_kept()
        self._caught_up.set()
        if self._done_meanwhile:
            self._session.done()
        for then in self._then:
            then()

    def _finish_session(self) -> None:
        """Behind all that it is to hear."""
        if self._replay is None:
            self._session.done()
        else:
            self._done_meanwhile = True

    async def _follow(self) -> None:
        async for event in self._session.events:
            self.rev = max(self.rev, getattr(event, "rev", 0))
            self.holds_speech |= isinstance(event, ev.SpeechStarted)
            if isinstance(event, ev.TurnEnded) and event.reason == "text":
                await self._text_kept.wait()
            self._log(event)
            if isinstance(event, ev.TurnEnded):
                self._note_end(event)

    def _note_end(self, ended: ev.TurnEnded) -> None:
        self._skipped = ended.reason == "skipped"
        self._over.set()

    async def _wait_for_page(self) -> None:
        await self._over.wait()
        if self._skipped or self.spool.next == 0:
            return  # nothing of it counts, or it was typed without a microphone
        try:
            async with asyncio.timeout(REST_WITHIN_S if self.last_word is not None else END_WITHIN_S):
                await self._handed_in.wait()
        except TimeoutError:
            logger.info("answer %d closed without the page's last word", self.number)

    def _ignores(self, seq: int) -> bool:
        """Whether it is too late for this seq here, or it is none of the answer's."""
        self.turned_away |= self._sealed
        return self._sealed or (self.last_word is not None and seq > self.last_word.last_seq)

    def _took(self) -> None:
        self._wake()
        self._check_handed_in()

    def _check_handed_in(self) -> None:
        if self.last_word is not None and self.spool.next > self.last_word.last_seq:
            self._handed_in.set()
            self._finish_session()
        elif self._done and self.spool.next >= self._held_to:
            self._finish_session()

    def _begin_waiting(self) -> None:
        if self._late_end is None:
            self._await_rest(asyncio.get_running_loop().time() + CATCH_UP_WITHIN_S)

    def _await_rest(self, until: float, seen: int = -1) -> None:
        """As long as missing frames come, a page that catches up after an outage is waited for."""
        loop = asyncio.get_running_loop()
        if self.spool.next == seen or loop.time() > until:
            self._finish_session()
        else:
            self._late_end = loop.call_later(REST_WITHIN_S, self._await_rest, until, self.spool.next)

    def _miss_again(self, run: LostRun) -> None:
        """A session knows which holes were told before; beyond the turn's end it is not asked."""
        if not self._heard_enough() and (self._ended is None or run.at_s < self._ended.at_s):
            self._session.hole(run.seconds, run.why)
        else:
            self._tell_missing(Missing(run.at_s, run.seconds, run.why))

    def _tell_missing(self, missing: Missing) -> None:
        """Of a hole that the session does not hear of."""
        if missing not in self._brief.missing:
            self._log(
                ev.AudioMissing(turn=self.number, at_s=missing.at_s, seconds=missing.seconds, why=missing.why)
            )


def _brief(
    step: Step, setting: AnswerSetting, past: Sequence[ev.Event], ended: ev.TurnEnded | None
) -> AnswerBrief:
    heard = heard_before(past)
    asked = any(isinstance(event, ev.FollowUp) for event in past)
    return AnswerBrief(
        turn=step.number,
        question=step.spec(setting.language),
        limit_s=step.question.limit_s,
        ask_follow_up=setting.follow_ups and step.kind == "main" and not asked,
        first_rev=highest_rev(past) + 1,
        spoken=setting.chosen if setting.any_language else setting.language,
        any_language=setting.any_language,
        subject=setting.subject,
        heard=heard,
        heard_to_s=heard[-1].end_s if heard else 0.0,
        missing=missing_before(past),
        ended=None if ended is None else ended.reason,
        waits_until_s=waits_before(past),
        score_stands=score_stands(past),
    )
