"""Frames of one answer: into the spool first, then to who listens; acknowledged once they are kept.

Everything here is synchronous and runs on the socket's loop; `kept` and `unkept` are called there too.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary, ref

from apps.live.close_codes import CloseCode, Refused
from apps.live.declared import DeclaredRate
from apps.live.frames import DISCONTINUITY, FRAME_MS, Frame
from apps.live.messages import MAX_GAP_FRAMES, Ack, Gap, Nack
from apps.live.outbox import Outgoing
from apps.live.replay import turns
from apps.live.spool import MAX_UNSYNCED_FRAMES, Spool, Verdict
from apps.live.spool_sync import SpoolSync, Watch
from inference import events as ev
from inference.audio import SAMPLE_RATE, AudioChunk, MissingWhy

logger = logging.getLogger(__name__)

MAX_ANSWER_S = 900  # of sound: the longest time limit, and five minutes of thought before the first word
SLACK_S = 10.0  # frames already on their way when the longest answer was cut
CONFLICTS = 3
CATCH_UP = 4.0  # times real time
BURST_S = 30.0
OVERDRAWN_S = -30.0
FRAME_S = FRAME_MS / 1_000
# While many wait for their welcome, a page that came among them sends nothing at first; then what is spoken
# now passes, and what was kept meanwhile follows later.
HELD_S = 5.0
CROWDED_ROOM = 3
RATE_WINDOW_US = 3_000_000
RATE_TOLERANCE = 0.1


@dataclass(slots=True)
class Allowance:
    """How much audio may come in: a bucket that fills at four times real time (W9)."""

    left_s: float = BURST_S
    at: float = 0.0

    def spend(self, audio_s: float, now: float) -> None:
        """Raises Refused (4408) once far overdrawn: the page was told to wait long before."""
        self.refill(now)
        self.left_s -= audio_s
        if self.left_s < OVERDRAWN_S:
            raise Refused(CloseCode.RATE, "audio comes faster than allowed")

    def refill(self, now: float) -> float:
        if self.at:
            self.left_s = min(BURST_S, self.left_s + (now - self.at) * CATCH_UP)
        self.at = now
        return self.left_s


@dataclass(slots=True)
class RateCheck:
    """Compares audio with the page's capture clock: a microphone at another rate shows within 3 s."""

    from_us: int = -1
    audio_us: float = 0.0

    def mismatch(self, frame: Frame) -> bool:
        elapsed_us = frame.capture_us - self.from_us
        if self.from_us < 0 or frame.flags & DISCONTINUITY or elapsed_us < 0:
            self._restart(frame)
            return False
        heard_us = self.audio_us
        self.audio_us += frame.duration_s * 1e6
        if elapsed_us < RATE_WINDOW_US:
            return False
        self._restart(frame)
        return abs(heard_us / elapsed_us - 1) > RATE_TOLERANCE

    def _restart(self, frame: Frame) -> None:
        self.from_us, self.audio_us = frame.capture_us, frame.duration_s * 1e6


class Listener(Protocol):
    """Where accepted audio goes."""

    def hear(self, chunk: AudioChunk) -> None: ...

    def miss(self, seconds: float, why: MissingWhy) -> None:
        """`seconds` after what was heard are lost for good."""

    def full(self) -> None:
        """The answer is as long as an answer may be."""


class Intake:
    """`tell` queues a message for the page; `rate` is what it declared in its hello."""

    def __init__(
        self,
        spool: Spool,
        tell: Callable[[Outgoing], None],
        listener: Listener,
        allowance: Allowance | None = None,
        rate: int = SAMPLE_RATE,
    ) -> None:
        self.answer, self.spool = spool.answer, spool
        self._tell, self._listener = tell, listener
        self._allowance = allowance or Allowance()
        self._samples_per_s = rate
        self._declared = DeclaredRate(rate) if rate != SAMPLE_RATE else None
        self._rate = RateCheck()
        self._conflicts = 0
        self._nacked = -1
        self._turned_away = False
        self._mismatch_told = False
        self._disk_full = False
        self._held_until = 0.0
        self._paused = False  # the page was last told to wait

    @property
    def converts(self) -> bool:
        """What is kept is not what the page sent: its checksum is of something else."""
        return self._declared is not None

    @property
    def room(self) -> int:
        """Frames that may still come now; 0 pauses sending, never recording."""
        if self._disk_full:
            return 0
        free = MAX_UNSYNCED_FRAMES - self.spool.waiting
        now = time.monotonic()
        if turns.crowded:
            free = min(free, 0 if now < self._held_until else CROWDED_ROOM)
        return max(0, min(free, int(self._allowance.refill(now) / FRAME_S)))

    @property
    def window(self) -> int:
        """Seqs that may be un-ACKed: those that wait for the disk and those there is room for."""
        return 0 if self._disk_full else self.spool.next - self.spool.kept + self.room

    def hold(self) -> None:
        """Its page is to be welcomed: among many others it sends nothing at first."""
        if turns.crowded:
            self._held_until, self._paused = time.monotonic() + HELD_S, True

    def take(self, frame: Frame) -> None:
        """Accept or answer one frame. Raises Refused with the code to close with."""
        start = self.spool.samples
        if start > (MAX_ANSWER_S + SLACK_S) * SAMPLE_RATE:
            raise Refused(CloseCode.TOO_LONG, f"answer {self.answer} is over-long")
        self._allowance.spend(frame.samples / self._samples_per_s, time.monotonic())
        if self._declared is None:
            verdict = self.spool.append(frame)
        else:
            verdict, frame = self._declared.append(frame, self.spool)
        if verdict == "stored":
            self._stored(frame, start)
        else:
            self._not_stored(verdict)

    def take_gap(self, gap: Gap) -> None:
        """Accept or answer word of frames that will never come. Raises Refused."""
        more = gap.to - max(gap.from_, self.spool.next)
        if self.spool.lost_seqs + more > MAX_GAP_FRAMES:
            raise Refused(CloseCode.BAD_FRAME, f"answer {self.answer} is nothing but holes")
        verdict = self.spool.gap(gap.from_, gap.to, FRAME_MS, gap.why)
        if verdict != "stored":
            self._not_stored(verdict)
            return
        self._nacked = -1
        self._rate = RateCheck()  # the capture clock went on without audio
        if self._declared is not None:
            self._declared.interrupt()
        self._listener.miss(self.spool.lost[-1].seconds, gap.why)

    def _not_stored(self, verdict: Verdict) -> None:
        if verdict == "duplicate":
            self.acknowledge()
        elif verdict == "conflict":
            self._conflict()
        elif verdict == "full":
            self._turned_away = True  # asked for again once there is room
        elif not self._turned_away:
            self.ask_again()

    def acknowledge(self) -> None:
        self._paused = self.room == 0
        self._tell(Ack(answer=self.answer, upto=self.spool.kept - 1, window=self.window))

    def ask_again(self) -> None:
        """Frames are missing that the page believes sent. Once per hole: it goes back and sends all again."""
        if self._nacked != self.spool.next:
            self._nack()

    def kept(self) -> None:
        """The spool has synced more frames."""
        self._disk_full = False
        if self._turned_away:
            self._turned_away = False
            self._nack()
        self.acknowledge()

    def unkept(self) -> None:
        """The disk took nothing. Frames wait in memory; the page keeps its own."""
        if not self._disk_full:
            self._disk_full = True
            self._tell(ev.Problem(code="storage_full"))
        self.acknowledge()

    def reopen(self) -> None:
        """Called now and then: a page that was told to wait hears when it may go on."""
        if self._paused and self.room > 0:
            self.acknowledge()

    def _nack(self) -> None:
        self._nacked = self.spool.next
        self._tell(Nack(answer=self.answer, from_=self._nacked))

    def _stored(self, frame: Frame, start: int) -> None:
        self._nacked = -1
        self._listener.hear(AudioChunk(start, frame.pcm))
        if self._rate.mismatch(frame) and not self._mismatch_told:
            self._mismatch_told = True
            self._tell(ev.Problem(code="rate_mismatch"))
        # For each frame beyond it: a server may have died with the first.
        if self.spool.samples >= MAX_ANSWER_S * SAMPLE_RATE:
            self._listener.full()

    def _conflict(self) -> None:
        self._conflicts += 1
        if self._conflicts >= CONFLICTS:
            raise Refused(CloseCode.SUPERSEDED, f"{CONFLICTS} frames came twice with different bytes")
        self.acknowledge()


def watched(intake: Intake, sync: SpoolSync) -> None:
    """Have the intake's spool synced, and its page told on the loop that runs now."""
    letterbox = _letterbox()
    sync.add(
        intake.spool,
        Watch(kept=lambda _: letterbox.put(intake.kept), unkept=lambda _: letterbox.put(intake.unkept)),
    )


class Letterbox:
    """Calls from sync threads to one loop, which wakes once for all that came until it looks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)  # whose box it is: neither keeps the other alive
        self._lock = threading.Lock()
        self._calls: list[Callable[[], None]] = []

    def put(self, call: Callable[[], None]) -> None:
        with self._lock:
            self._calls.append(call)
            if len(self._calls) > 1:
                return
        self._wake()

    def _wake(self) -> None:
        loop = self._loop()
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._empty)
                return
        except RuntimeError:
            pass
        logger.debug("a socket's loop ended before its last acknowledgement")
        with self._lock:
            self._calls.clear()

    def _empty(self) -> None:
        with self._lock:
            calls, self._calls = self._calls, []
        for call in calls:
            try:
                call()
            except Exception:
                logger.exception("a page could not be told what is kept")


_letterboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, Letterbox] = WeakKeyDictionary()


def _letterbox() -> Letterbox:
    loop = asyncio.get_running_loop()
    return _letterboxes.setdefault(loop, Letterbox(loop))
