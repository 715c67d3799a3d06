"""One open answer: its spool, its session, and how both end. Knows no sockets and no rows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from apps.live.course import Step
from apps.live.frames import Frame
from apps.live.intake import Intake
from apps.live.messages import End, OpenTurn
from apps.live.outbox import Outgoing
from apps.live.spool import Spool
from apps.live.spool_sync import SpoolSync, Watch
from inference import events as ev
from inference.assessment import Language
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk
from inference.observe import Observe
from inference.ports import Engines
from inference.session import AnswerBrief, AnswerOutcome, AnswerSession

logger = logging.getLogger(__name__)

END_WITHIN_S = 3.0  # after the server ended the turn: the page's last frames and its `end`
REST_WITHIN_S = 15.0  # after an `end` whose last frames are still missing
REPLAY_BYTES = 2 * SAMPLE_RATE * BYTES_PER_SAMPLE  # 2 s a chunk: ten minutes fit the session's queue


@dataclass(frozen=True, slots=True)
class AnswerSetting:
    """What an answer is worked on with. `language` is the interview's."""

    engines: Engines
    language: Language
    follow_ups: bool
    observe: Observe


class LiveAnswer:
    """Made on the socket's loop. `tell` queues messages for the page, `log` takes the session's events."""

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
        brief = AnswerBrief(
            turn=step.number,
            question=step.spec(setting.language),
            limit_s=step.question.limit_s,
            ask_follow_up=setting.follow_ups and step.kind == "main",
            first_rev=self.rev + 1,
            spoken=setting.language,
        )
        self._session = AnswerSession(setting.engines, brief, observe=setting.observe)
        self.intake = Intake(step.number, spool, tell, self._hear, self._session.done)
        self._over = asyncio.Event()  # the server has ended the turn
        self._skipped = False
        self.typed = ""  # what ended the turn, if it was typed
        self._text_kept = asyncio.Event()
        self._handed_in = asyncio.Event()  # the page has: `end` came and every frame before it
        self._end: End | None = None
        self._late_end: asyncio.TimerHandle | None = None
        self._sealed = False
        self._wake: Callable[[], None] = _nobody

    @property
    def number(self) -> int:
        return self.step.number

    def watch(self, sync: SpoolSync) -> None:
        """Have the spool synced and the page told, on this loop."""
        loop = asyncio.get_running_loop()
        self._wake = sync.wake
        sync.add(
            self.spool,
            Watch(
                kept=lambda _: _call(loop, self.intake.kept),
                unkept=lambda _: _call(loop, self.intake.unkept),
            ),
        )

    def restore(self, pcm: Sequence[bytes], typed: str) -> None:
        """Bring a fresh session to where the last one was: its audio, its typed answer, its end."""
        start = 0
        for chunk in _joined(pcm, REPLAY_BYTES):
            self._session.push(AudioChunk(start, chunk))
            start += len(chunk) // BYTES_PER_SAMPLE
        ended = next((event for event in self._past if isinstance(event, ev.TurnEnded)), None)
        if typed:
            self.answer_in_text(typed)
            self.text_kept()
        elif ended is not None and ended.reason == "skipped":
            self._session.skip()
        elif ended is not None:
            self._session.done()

    def take(self, frame: Frame) -> None:
        if self._sealed or (self._end is not None and frame.seq > self._end.last_seq):
            return
        self.intake.take(frame)
        self._wake()
        self._check_handed_in()

    def end(self, end: End) -> None:
        """The page's last word on this answer; said again it changes nothing."""
        self._end = end
        self._check_handed_in()
        if self._handed_in.is_set():
            return
        # Frames before last_seq are missing: they are asked for, and waited for within bounds.
        self.intake.ask_again()
        if self._late_end is None:
            loop = asyncio.get_running_loop()
            self._late_end = loop.call_later(REST_WITHIN_S, self._session.done)

    def skip(self) -> None:
        self._session.skip()

    def done(self) -> None:
        self._session.done()

    def thinking(self) -> None:
        self._session.thinking()

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
            working = tasks.create_task(self._session.run(), name=f"answer {self.number}")
            tasks.create_task(self._wait_for_page(), name=f"end of answer {self.number}")
        outcome = working.result()
        first = next((event for event in self._past if isinstance(event, ev.TurnEnded)), None)
        return outcome if first is None else replace(outcome, end_reason=first.reason)

    def seal(self) -> None:
        """From now on the recording is what it is; frames still on their way are not part of it."""
        self._sealed = True
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

        A turn that was skipped or given up is sealed before the page's last frames: nothing to compare.
        """
        if self._end is None or not self._handed_in.is_set():
            return True
        return not self._end.sha256 or self._end.sha256 == sha256

    async def _follow(self) -> None:
        async for event in self._session.events:
            self.rev = max(self.rev, getattr(event, "rev", 0))
            self.holds_speech |= isinstance(event, ev.SpeechStarted)
            if isinstance(event, ev.TurnEnded) and event.reason == "text":
                await self._text_kept.wait()
            self._log(event)
            if isinstance(event, ev.TurnEnded):
                self._skipped = event.reason == "skipped"
                self._over.set()

    async def _wait_for_page(self) -> None:
        await self._over.wait()
        if self._skipped or self.spool.next == 0:
            return  # nothing of it counts, or it was typed without a microphone
        try:
            async with asyncio.timeout(REST_WITHIN_S if self._end is not None else END_WITHIN_S):
                await self._handed_in.wait()
        except TimeoutError:
            logger.info("answer %d closed without the page's last word", self.number)

    def _hear(self, chunk: AudioChunk) -> None:
        if not self._over.is_set():
            self._session.push(chunk)

    def _check_handed_in(self) -> None:
        if self._end is not None and self.spool.next > self._end.last_seq:
            self._handed_in.set()
            self._session.done()


def highest_rev(events: Sequence[ev.Event]) -> int:
    return max((getattr(event, "rev", 0) for event in events), default=0)


def _joined(pcm: Sequence[bytes], at_least: int) -> list[bytes]:
    """Fewer, longer chunks, so that a whole answer fits the session's queue at once."""
    joined, held = [], bytearray()
    for payload in pcm:
        held += payload
        if len(held) >= at_least:
            joined.append(bytes(held))
            held.clear()
    return [*joined, bytes(held)] if held else joined


def _nobody() -> None:
    """Before `watch`, nobody waits for frames."""


def _call(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    """Hand over to the socket's loop; a loop that just ended needs nothing any more."""
    try:
        loop.call_soon_threadsafe(callback)
    except RuntimeError:
        logger.debug("a socket's loop ended before its last acknowledgement")
