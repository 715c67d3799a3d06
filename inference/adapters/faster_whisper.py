"""The recogniser of a process: a priority line in front of worker processes that can be killed.

Never imports the model library itself: a hung or crashed decode costs a worker, not the web process.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from inference.adapters.waiting import Load, Request, WaitingLine, require_speech
from inference.adapters.worker_seat import WorkerSeat, refuse
from inference.config import RecognizerConfig
from inference.observe import Observe, ignore
from inference.ports import EngineUnavailable, Priority, Speech, Transcript

MAX_WAITING = 64
BUSY_SHARE = 0.6  # of the last seconds: the rest is kept for who waits for his words
CLOSED = "the recogniser is closed"


class FasterWhisperRecognizer:
    """Belongs to the event loop that first uses it. `counters` tells what was retried, dropped and lost.

    Works on `config.at_once` utterances side by side, each in a process of its own; where there are several,
    one is kept free of guesses. Observes `asr_wait_s` and `asr_decode_s` per answer, and `asr_<counter>` for
    each of `counters`.
    """

    def __init__(self, config: RecognizerConfig, observe: Observe = ignore) -> None:
        self._observe = observe
        self.counters: Counter[str] = Counter()
        self._line = WaitingLine(MAX_WAITING, self.counters)
        self.load = Load(places=config.at_once)
        self._seats = [WorkerSeat(config, self, observe) for _ in range(config.at_once)]
        self._guesses: set[asyncio.Future[Transcript]] = set()  # that are worked on
        self._settled = asyncio.Event()  # a first load succeeded, or all failed
        self._closed = False

    @property
    def ready(self) -> bool:
        return bool(self.worker_pids)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        return tuple(seat.pid for seat in self._seats if seat.pid is not None)

    @property
    def worker_pid(self) -> int | None:
        """Of the first worker there is."""
        return next(iter(self.worker_pids), None)

    @property
    def waiting(self) -> int:
        return len(self._line)

    @property
    def busy(self) -> bool:
        return len(self._line) > 0 or self.load.share > BUSY_SHARE

    def hasten(self, speech: Speech) -> None:
        self._line.hasten(speech)
        self._wake()

    async def start(self) -> None:
        """Load the model. Raises EngineUnavailable with one line that says what is wrong with it."""
        self._begin()
        await self._settled.wait()
        if down := self._down():
            raise down

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        require_speech(speech)
        self._begin()
        if down := self._down():
            raise EngineUnavailable(str(down))
        request = Request(speech, priority, asyncio.get_running_loop().create_future())
        self._line.put(request)
        self._wake()
        return await request.answer

    async def aclose(self) -> None:
        self._closed = True
        await asyncio.gather(*(seat.aclose() for seat in self._seats))
        self._refuse_waiting(CLOSED)

    def take(self) -> Request | None:
        """For a seat: the next request, unless it is a guess and the last free seat would go to it."""
        spare = len(self._seats) == 1 or len(self._guesses) + 1 < len(self._seats)
        request = self._line.pop(None if spare else Priority.EAGER)
        if request is not None and request.priority >= Priority.PARTIAL:
            self._guesses.add(request.answer)
        return request

    def done(self, request: Request) -> None:
        """For a seat: it does not work on this any more."""
        self._guesses.discard(request.answer)
        self._wake()

    def put_back(self, request: Request) -> None:
        self._line.put(request)
        self._wake()

    def told(self) -> None:
        """For a seat: whether it has a worker has changed."""
        down = self._down()
        if down is not None:
            self._refuse_waiting(str(down))
        if down is not None or self.ready:
            self._settled.set()

    def count(self, name: str) -> None:
        self.counters[name] += 1
        self._observe(f"asr_{name}", 1.0)

    def _down(self) -> EngineUnavailable | None:
        """Why nobody can hear; None while any seat has a worker or may have one yet."""
        reasons = [seat.down for seat in self._seats]
        return reasons[0] if all(reasons) else None

    def _begin(self) -> None:
        if self._closed:
            raise EngineUnavailable(CLOSED)
        for seat in self._seats:
            seat.begin()

    def _wake(self) -> None:
        for seat in self._seats:
            seat.wake()

    def _refuse_waiting(self, why: str) -> None:
        while request := self._line.pop():
            refuse(request, why)
