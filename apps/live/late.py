"""Audio that comes after its turn was closed: taken like the open turn's, kept, and left to a job to hear.

Knows spools and rows of closed turns, not what is said in them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from apps.interviews.selectors import AskedTurn
from apps.interviews.services.live import LateAudio, late_audio_record
from apps.live.answer import LiveAnswer
from apps.live.closing import recorded, recording_kept
from apps.live.frames import Frame
from apps.live.intake import Allowance, Intake, watched
from apps.live.messages import End, Gap, LateAnswer
from apps.live.opening import spool_found
from apps.live.outbox import Outgoing
from apps.live.recorder import Kept, Place
from apps.live.spool import Recording, Spool, SpoolBusyError
from apps.live.spool_sync import SpoolSync
from apps.ops.metrics import observe
from inference.audio import SAMPLE_RATE, AudioChunk, MissingWhy

logger = logging.getLogger(__name__)

OPEN_AT_ONCE = 8


class _Unheard:
    """Nobody listens to late audio while it comes."""

    def hear(self, chunk: AudioChunk) -> None: ...

    def miss(self, seconds: float, why: MissingWhy) -> None: ...

    def full(self) -> None: ...


@dataclass(slots=True)
class _Late:
    """`audio_s` of it were kept when its turn was closed."""

    spool: Spool
    intake: Intake
    audio_s: float
    end: End | None = None
    handed_in: bool = False

    @property
    def number(self) -> int:
        return self.spool.answer

    @property
    def samples_before(self) -> int:
        return round(self.audio_s * SAMPLE_RATE)

    @property
    def gained(self) -> bool:
        return self.spool.samples > self.samples_before

    def ignores(self, seq: int) -> bool:
        return self.end is not None and seq > self.end.last_seq


class LateAnswers:
    """Call `offer`, then `run`; the rest meanwhile; `close` in any case, after `run` has ended.

    All late answers of a socket share one allowance: together they come at four times real time at most.
    """

    def __init__(
        self,
        place: Place,
        sync: SpoolSync,
        tell: Callable[[Outgoing], None],
        committed: Callable[[int, str], None],
        rate: int = SAMPLE_RATE,
    ) -> None:
        self._place, self._sync, self._tell, self._committed = place, sync, tell, committed
        self._rate = rate
        self._allowance = Allowance()
        self._open: dict[int, _Late] = {}
        self._unopened: deque[AskedTurn] = deque()
        self._handed_in: asyncio.Queue[_Late] = asyncio.Queue()
        self._none_left = asyncio.Event()
        self._none_left.set()

    async def offer(self, turns: Iterable[AskedTurn]) -> None:
        """Open closed turns whose audio is not all here, as many as may be. Raises Superseded."""
        self._unopened.extend(turns)
        await self._open_more()

    def adopt(self, answer: LiveAnswer, kept: Kept) -> None:
        """Go on with an answer that was just closed without its last frames."""
        late = self._begin(answer.spool, kept.recording.duration_s)
        late.end = answer.last_word
        late.intake.acknowledge()  # its page may have been told to wait
        if answer.turned_away or late.end is not None:
            late.intake.ask_again()
        self._check(late)

    def offers(self) -> tuple[LateAnswer, ...]:
        return tuple(
            LateAnswer(answer=number, epoch=late.spool.epoch, next=late.spool.next, window=late.intake.window)
            for number, late in self._open.items()
        )

    def holds(self, number: int) -> bool:
        return number in self._open or any(turn.number == number for turn in self._unopened)

    def take(self, frame: Frame) -> None:
        """One frame of a late answer. Raises Refused."""
        late = self._open.get(frame.answer)
        if late is not None and not late.ignores(frame.seq):
            late.intake.take(frame)
            self._took(late)

    def take_gap(self, gap: Gap) -> None:
        late = self._open.get(gap.answer)
        if late is not None and not late.ignores(gap.from_):
            late.intake.take_gap(gap)
            self._took(late)

    def end(self, end: End) -> None:
        late = self._open.get(end.answer)
        if late is None or late.handed_in:
            return
        late.end = end
        self._check(late)
        if not late.handed_in:
            late.intake.ask_again()

    def tick(self) -> None:
        for late in self._open.values():
            late.intake.reopen()

    async def run(self) -> None:
        """Complete what the page hands in, one by one. Raises Superseded; ends when cancelled."""
        while True:
            late = await self._handed_in.get()
            await self._complete(late)
            await self._open_more()

    async def drained(self) -> None:
        """Wait until there is none left."""
        await self._none_left.wait()

    async def close(self) -> None:
        """Let go of the spools; what they hold stays."""
        while self._open:
            _, late = self._open.popitem()
            self._sync.discard(late.spool)
            await asyncio.to_thread(late.spool.close)

    async def _open_more(self) -> None:
        while self._unopened and len(self._open) < OPEN_AT_ONCE:
            turn = self._unopened[0]
            try:
                spool = await spool_found(self._place, turn.number, turn.epoch)
            except (OSError, SpoolBusyError) as exc:
                # Not worth the open question: the next socket offers it again.
                logger.warning("late answer %d not opened: %s", turn.number, type(exc).__name__)
                observe("late_not_opened", 1)
            else:
                self._begin(spool, turn.audio_s).intake.acknowledge()
            self._unopened.popleft()
        if not self._open and not self._unopened:
            self._none_left.set()

    def _begin(self, spool: Spool, audio_s: float) -> _Late:
        late = _Late(spool, Intake(spool, self._tell, _Unheard(), self._allowance, self._rate), audio_s)
        self._open[late.number] = late
        self._none_left.clear()
        watched(late.intake, self._sync)
        return late

    def _took(self, late: _Late) -> None:
        self._sync.wake()
        self._check(late)

    def _check(self, late: _Late) -> None:
        if not late.handed_in and late.end is not None and late.spool.next > late.end.last_seq:
            late.handed_in = True
            self._handed_in.put_nowait(late)

    async def _complete(self, late: _Late) -> None:
        """The whole recording, its row and job, `committed`, and only then is the spool let go."""
        kept = await self._recording(late)
        record = partial(late_audio_record, seat=self._place.seat, late=_late_audio(late, kept))
        completed = await recorded(self._place, kept, record)
        observe("late_audio", 1)
        del self._open[late.number]
        for event in completed.events:
            self._tell(event)
        self._committed(late.number, completed.sha256)
        self._sync.discard(late.spool)
        await asyncio.to_thread(late.spool.remove)

    async def _recording(self, late: _Late) -> Kept:
        spool = late.spool
        if late.gained:
            return await recording_kept(self._place, spool, late.intake.unkept)
        return Kept("", Recording("", 0.0, spool.next), spool.lost)


def _late_audio(late: _Late, kept: Kept) -> LateAudio:
    if late.spool.samples < late.samples_before:  # begun anew, and the page had no more: what is kept stands
        return LateAudio(late.number)
    return LateAudio(
        late.number,
        audio_path=kept.path,
        audio_s=kept.recording.duration_s,
        sha256=kept.recording.sha256,
        last_seq=kept.recording.frames - 1,
        missing=kept.missing,
    )
