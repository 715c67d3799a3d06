"""Frames of the open answer: into the spool first, then to the session; acknowledged once they are kept.

Everything here is synchronous and runs on the socket's loop; `kept` and `unkept` are called there too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from apps.live.close_codes import CloseCode, Refused
from apps.live.frames import DISCONTINUITY, FRAME_MS, Frame
from apps.live.messages import Ack, Nack
from apps.live.outbox import Outgoing
from apps.live.spool import MAX_UNSYNCED_FRAMES, Spool
from inference import events as ev
from inference.audio import SAMPLE_RATE, AudioChunk

MAX_ANSWER_S = 600
SLACK_S = 10.0  # frames already on their way when the longest answer was cut
CONFLICTS = 3
CATCH_UP = 4.0  # times real time
BURST_S = 30.0
OVERDRAWN_S = -30.0
FRAME_S = FRAME_MS / 1_000
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


class Intake:
    """`tell` queues one for the page, `hear` gives audio to the session, `full` ends an endless answer."""

    def __init__(
        self,
        answer: int,
        spool: Spool,
        tell: Callable[[Outgoing], None],
        hear: Callable[[AudioChunk], None],
        full: Callable[[], None],
    ) -> None:
        self.answer, self.spool = answer, spool
        self._tell, self._hear, self._full = tell, hear, full
        self._allowance = Allowance()
        self._rate = RateCheck()
        self._conflicts = 0
        self._nacked = -1
        self._turned_away = False
        self._paused = False  # the page was last told to wait
        self._mismatch_told = False
        self._disk_full = False

    @property
    def room(self) -> int:
        """Frames that may still come now; 0 pauses sending, never recording."""
        if self._disk_full:
            return 0
        free = MAX_UNSYNCED_FRAMES - self.spool.waiting
        return max(0, min(free, int(self._allowance.refill(time.monotonic()) / FRAME_S)))

    @property
    def window(self) -> int:
        """Frames that may be un-ACKed: those that wait for the disk and those there is room for."""
        return 0 if self._disk_full else self.spool.waiting + self.room

    def take(self, frame: Frame) -> None:
        """Accept or answer one frame. Raises Refused with the code to close with."""
        start = self.spool.samples
        if start > (MAX_ANSWER_S + SLACK_S) * SAMPLE_RATE:
            raise Refused(CloseCode.TOO_LONG, f"answer {self.answer} is over-long")
        self._allowance.spend(frame.duration_s, time.monotonic())
        verdict = self.spool.append(frame)
        if verdict == "stored":
            self._stored(frame, start)
        elif verdict == "duplicate":
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
        self._hear(AudioChunk(start, frame.pcm))
        if self._rate.mismatch(frame) and not self._mismatch_told:
            self._mismatch_told = True
            self._tell(ev.Problem(code="rate_mismatch"))
        if self.spool.samples >= MAX_ANSWER_S * SAMPLE_RATE > start:
            self._full()

    def _conflict(self) -> None:
        self._conflicts += 1
        if self._conflicts >= CONFLICTS:
            raise Refused(CloseCode.SUPERSEDED, f"{CONFLICTS} frames came twice with different bytes")
        self.acknowledge()
