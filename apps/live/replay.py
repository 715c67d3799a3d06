"""What a fresh session is told of a recording that another one began to hear. Knows files, no sessions.

It goes on beside the frames that come meanwhile, until it has caught up with them. A few do so at a time, and
pages that wait for their welcome come first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from apps.live.spool import MAX_UNSYNCED_FRAMES, Spool
from apps.live.spool_scan import LostRun
from apps.ops.metrics import observe
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk

logger = logging.getLogger(__name__)

CHUNK_BYTES = 2 * SAMPLE_RATE * BYTES_PER_SAMPLE  # 2 s a chunk: ten minutes fit the session's queue
AT_ONCE = 4
ENTERING = 24  # what waits for a thread, the disk or a lock leaves the loop to the others
ENTER_WITHIN_S = 20.0  # then all the same
LOOK_AGAIN_S = 0.2
WELCOMES_FIRST_S = 5.0  # then it goes on although pages still come in
OTHERS_FIRST_S = 30.0
AT_ONCE_S = 60.0  # of audio that a session is told at once; a session forgets what is two minutes behind
TIMES_LIFE = 8.0  # the rest is told no faster

Piece = AudioChunk | LostRun


class Replay:
    """The kept audio from `from_sample` on, and the holes in it, in order; read beside the event loop."""

    def __init__(self, spool: Spool, from_sample: int) -> None:
        self._spool, self._at = spool, from_sample
        self._first = from_sample
        self._lost_told = sum(run.at_sample < from_sample for run in spool.lost)
        # As many as may be in memory alone: what is older is on disk.
        self._recent: deque[AudioChunk] = deque(maxlen=MAX_UNSYNCED_FRAMES)

    @property
    def told_s(self) -> float:
        """How much audio it has told."""
        return (self._at - self._first) / SAMPLE_RATE

    @property
    def untold(self) -> tuple[LostRun, ...]:
        """The holes that it has not come to."""
        return self._spool.lost[self._lost_told :]

    def came(self, chunk: AudioChunk) -> None:
        """A frame was accepted meanwhile; it is told in its place."""
        self._recent.append(chunk)

    async def pieces(self, before_each: Callable[[], Awaitable[None]]) -> AsyncGenerator[Piece]:
        """Ends with the last piece: after the last look at what came meanwhile nothing is awaited."""
        while not self._reached:
            with _let_go(self._kept_pieces()) as pieces:
                while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
                    self._note(piece)
                    yield piece
                    await before_each()
        for piece in self._rest():
            self._note(piece)
            yield piece

    @property
    def _reached(self) -> bool:
        """Whether what is left to tell is in memory."""
        in_memory = bool(self._recent) and self._recent[0].start <= self._at
        return in_memory or self._at >= self._spool.samples

    def _note(self, piece: Piece) -> None:
        if isinstance(piece, LostRun):
            self._lost_told += 1
        else:
            self._at = piece.start + piece.samples

    def _rest(self) -> Iterator[Piece]:
        lost = deque(self.untold)
        for chunk in list(self._recent):
            while lost and lost[0].at_sample <= chunk.start:
                yield lost.popleft()
            if (fresh := cut_from(chunk, self._at)).pcm:
                yield fresh
        yield from lost

    def _kept_pieces(self) -> Generator[Piece]:
        payloads = self._spool.payloads(self._at)
        pcm = next(
            payloads, b""
        )  # how far it goes is settled with the first: the holes before that are known
        lost = deque(self.untold)
        start, held = self._at, bytearray()
        while pcm:
            reached = start + len(held) // BYTES_PER_SAMPLE
            if held and (len(held) >= CHUNK_BYTES or (lost and lost[0].at_sample <= reached)):
                yield AudioChunk(start, bytes(held))
                start, held = reached, bytearray()
            while lost and lost[0].at_sample <= start:
                yield lost.popleft()
            held += pcm
            pcm = next(payloads, b"")
        if held:
            yield AudioChunk(start, bytes(held))


@contextmanager
def _let_go(pieces: Generator[Piece]) -> Iterator[Generator[Piece]]:
    try:
        yield pieces
    finally:
        with suppress(ValueError):  # cancelled while a thread is inside: its file closes with its last reader
            pieces.close()


class Turns:
    """Who may come in and who may replay now. One for the process."""

    def __init__(self, at_once: int = AT_ONCE, entering: int = ENTERING) -> None:
        self._at_once, self._running = at_once, 0
        self._arriving: set[object] = set()
        self._doors = entering
        self._entering: set[object] = set()
        self._queue: deque[tuple[object, asyncio.Future[None]]] = deque()

    @property
    def crowded(self) -> bool:
        """So many wait for their welcome that the others' backlog must wait too."""
        return len(self._arriving) > self._doors

    def arrives(self, page: object) -> None:
        """A page waits for its welcome."""
        self._arriving.add(page)

    async def enter(self, page: object) -> None:
        """One after the other, a few at once: all together would all be late. Nobody waits for ever."""
        if len(self._entering) >= self._doors:
            call = asyncio.get_running_loop().create_future()
            self._queue.append((page, call))
            try:
                async with asyncio.timeout(ENTER_WITHIN_S):
                    await call
            except TimeoutError:
                logger.warning("a page comes in although %d are coming in", len(self._entering))
                observe("entered_out_of_turn", 1)
        if page in self._arriving:
            self._entering.add(page)

    def is_welcome(self, page: object) -> None:
        """It waits no longer, or is gone."""
        self._arriving.discard(page)
        self._entering.discard(page)
        while self._queue and len(self._entering) < self._doors:
            following, call = self._queue.popleft()
            if following in self._arriving and not call.done():
                self._entering.add(following)
                call.set_result(None)

    @asynccontextmanager
    async def turn(self, enough: Callable[[], bool]) -> AsyncIterator[None]:
        """Begin when others leave room; at once where `enough` says that nothing is to be told any more."""
        began = time.monotonic()
        while self._others_first(time.monotonic() - began) and not enough():  # noqa: ASYNC110 - few look, rarely
            await asyncio.sleep(LOOK_AGAIN_S)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    def _others_first(self, waited_s: float) -> bool:
        if self._arriving and waited_s < WELCOMES_FIRST_S:
            return True
        return self._running >= self._at_once and waited_s < OTHERS_FIRST_S


turns = Turns()


def ahead_s(told_s: float, since_s: float) -> float:
    """How long to wait after `told_s` of audio were told within `since_s`; at most 0: not at all."""
    return (told_s - AT_ONCE_S) / TIMES_LIFE - since_s


def cut_to(chunk: AudioChunk, until: int | None) -> AudioChunk:
    """Without what comes from sample `until` on."""
    if until is None or chunk.start + chunk.samples <= until:
        return chunk
    return AudioChunk(chunk.start, chunk.pcm[: (until - chunk.start) * BYTES_PER_SAMPLE])


def cut_from(chunk: AudioChunk, start: int) -> AudioChunk:
    """Without what comes before sample `start`."""
    skipped = max(0, start - chunk.start)
    return AudioChunk(chunk.start + skipped, chunk.pcm[skipped * BYTES_PER_SAMPLE :])
