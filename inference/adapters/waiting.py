"""Requests that wait for one engine: by priority, then arrival, in bounded number; and how busy it is.

Knows no engine.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from inference.audio import BYTES_PER_SAMPLE, duration_s
from inference.ports import EngineBusy, Priority, RequestRejected, Speech, Transcript

MAX_AUDIO_S = 30.0
LOAD_OVER_S = 5.0


@dataclass(eq=False, slots=True)
class Request:
    speech: Speech
    priority: Priority
    answer: asyncio.Future[Transcript]
    arrived_s: float = field(default_factory=time.monotonic)
    place: int | None = None  # by arrival in its line; kept when it is put back
    tries: int = 0

    @property
    def given_up(self) -> bool:
        return self.answer.done()


class WaitingLine:
    """`put` refuses or pushes out the last when full; `pop` skips those who gave up. All is counted."""

    def __init__(self, capacity: int, counters: Counter[str]) -> None:
        self._capacity, self._counters = capacity, counters
        self._heap: list[tuple[int, int, Request]] = []
        self._arrival = itertools.count()

    def __len__(self) -> int:
        return sum(not request.given_up for _, _, request in self._heap)

    def put(self, request: Request) -> None:
        """Raises EngineBusy when the line is full of requests that go first."""
        if len(self._heap) >= self._capacity:
            self._forget_given_up()
        if len(self._heap) >= self._capacity:
            self._push_out(request)
        if request.place is None:
            request.place = next(self._arrival)
        heapq.heappush(self._heap, (request.priority, request.place, request))

    def pop(self, last: Priority | None = None) -> Request | None:
        """The first in line; None when nobody waits, or nobody of the priority `last` or before it."""
        while self._heap:
            _, _, request = self._heap[0]
            if request.given_up:
                self._counters["given_up"] += 1
            elif last is not None and request.priority > last:
                return None
            heapq.heappop(self._heap)
            if not request.given_up:
                return request
        return None

    def hasten(self, speech: Speech) -> None:
        """Who waits with this very value goes with the finals, by arrival."""
        for at, (priority, arrival, request) in enumerate(self._heap):
            if request.speech is speech and priority > Priority.FINAL:
                request.priority = Priority.FINAL
                self._heap[at] = (Priority.FINAL, arrival, request)
                heapq.heapify(self._heap)
                return

    def _forget_given_up(self) -> None:
        kept = [entry for entry in self._heap if not entry[2].given_up]
        self._counters["given_up"] += len(self._heap) - len(kept)
        self._heap = kept
        heapq.heapify(self._heap)

    def _push_out(self, newcomer: Request) -> None:
        last = max(self._heap)
        self._counters["pushed_out"] += 1
        if last[0] <= newcomer.priority:
            raise EngineBusy("the recogniser has too many requests waiting")
        self._heap.remove(last)
        heapq.heapify(self._heap)
        last[2].answer.set_exception(EngineBusy("pushed out by a request that goes first"))


class Load:
    """Which part of the last seconds was work, over all places; older ones count less and less."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, places: int = 1) -> None:
        self._clock, self._at_s, self._places = clock, clock(), places
        self._share, self._working = 0.0, 0

    @property
    def share(self) -> float:
        now = self._clock()
        target = self._working / self._places
        self._share = target + (self._share - target) * math.exp((self._at_s - now) / LOAD_OVER_S)
        self._at_s = now
        return self._share

    @contextmanager
    def work(self) -> Iterator[None]:
        self._turn(1)
        try:
            yield
        finally:
            self._turn(-1)

    def _turn(self, more: int) -> None:
        _ = self.share  # what was, until here
        self._working += more


def require_speech(speech: Speech) -> None:
    """Raises RequestRejected for audio that no engine could hear: nobody should wait for it."""
    if not speech.pcm or len(speech.pcm) % BYTES_PER_SAMPLE:
        raise RequestRejected("audio is empty or has half a sample")
    if duration_s(speech.pcm) > MAX_AUDIO_S:
        raise RequestRejected(f"audio is longer than {MAX_AUDIO_S:.0f} s")
