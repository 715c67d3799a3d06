"""One thread a process hears for all sessions: audio in from any thread, sounds back on each session's loop.

Windows of all streams are scored together, a call a round. Knows no turn, no words and no particular model.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, WINDOW_BYTES, AudioChunk, Cutter
from inference.endpointing import Endpointer, Guess, Heard, Missed, Sound
from inference.observe import Observe, ignore
from inference.ports import EngineUnavailable, Listener, VoiceModel

logger = logging.getLogger(__name__)

TICK_S = 0.012  # what arrives within it is heard together
RUN_WINDOWS = 8  # of one stream in one turn: who is behind does not hold the others up
RUN_BYTES = RUN_WINDOWS * WINDOW_BYTES
BATCH = 64  # streams a score call; longer ones gain nothing
LATE_S = 1.0  # who waits to be heard for longer is no live stream
WAITING_CHUNKS = 1_200  # two minutes at 100 ms; a replay pushes longer ones, faster than real time
HEARD_WITHIN_S = 60.0  # of the close; two minutes of audio of each of two hundred streams take longer alone
AHEAD_S = 10.0  # a recording is pushed so far ahead of what was heard
CLOSE_WAIT_S = 2.0
IDLE_S = 30.0  # a process in which nobody speaks keeps no thread
LOOK_EVERY_S = 5.0  # between observations

Hear = Callable[[Sequence[Sound]], None]
Lost = Callable[[EngineUnavailable], None]


class Hearing:
    """One answer's stream. Its loop pushes, closes and stops; the thread takes runs and gives sounds."""

    def __init__(self, ears: Ears, endpointer: Endpointer, state: object, hear: Hear, lost: Lost) -> None:
        self.dropped = 0
        self.loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self.loop.create_future()
        self.endpointer, self.state = endpointer, state
        self.deaf = False  # its audio cannot be heard any more; holes in it are still told
        self.stopped = False
        self._hear, self._lost = hear, lost
        self._ears = ears
        self._waiting: deque[AudioChunk] = deque()
        self._samples = 0
        self._cutter = Cutter()
        self._cuts: deque[float] = deque(maxlen=8)
        self._closed = False
        self._deadline: asyncio.TimerHandle | None = None

    def push(self, chunk: AudioChunk) -> None:
        """Take audio or a hole. Never waits: when too much is waiting, the oldest is dropped and counted."""
        with self._ears.lock:
            if self._closed or self.stopped:
                return
            self._waiting.append(chunk)
            self._samples += chunk.samples
            if len(self._waiting) > WAITING_CHUNKS:
                self._samples -= self._waiting.popleft().samples
                self.dropped += 1
        self._ears.wake(self)

    def cut(self, at_s: float) -> None:
        self._cuts.append(at_s)
        self._ears.wake(self)

    def close(self) -> None:
        if not self._closed and not self.stopped:
            self._closed = True
            self._deadline = self.loop.call_later(HEARD_WITHIN_S, self._give_up)
            self._ears.wake(self)

    def stop(self) -> None:
        with self._ears.lock:
            self.stopped = True
            self._waiting.clear()
            self._samples = 0
        self._end(None)

    @property
    def behind_s(self) -> float:
        return self._samples / SAMPLE_RATE + self._cutter.held_bytes / BYTES_PER_SAMPLE / SAMPLE_RATE

    def take(self) -> tuple[AudioChunk | None, bool]:
        """The next run, or the hole in its place; and whether more is left. The thread's, under the lock."""
        cutter, waiting = self._cutter, self._waiting
        while cutter.held_bytes < RUN_BYTES and waiting and cutter.join(waiting[0]):
            self._samples -= waiting.popleft().samples
        piece = cutter.run(RUN_BYTES)
        if piece is not None or (not waiting and not self._closed):
            return piece, self._closed or bool(waiting) or cutter.held_bytes >= WINDOW_BYTES
        if waiting and waiting[0].hole is None:
            cutter.begin(waiting[0].start)
            return self.take()
        piece = cutter.rest()
        if piece is None and waiting:
            piece = waiting.popleft()
            cutter.begin(piece.start)
        return piece, piece is not None

    def splits(self) -> list[Sound]:
        """The cuts that were asked for."""
        sounds: list[Sound] = []
        while self._cuts:
            sounds += self.endpointer.cut(self._cuts.popleft())
        return sounds

    @property
    def finished(self) -> bool:
        """Closed and heard to its end, if nothing was left at the last `take`."""
        return self._closed and not self._waiting and not self._cutter.held_bytes

    def give(self, turn: _Turn) -> None:
        """On the loop: what a turn of the thread brought."""
        try:
            if turn.sounds and not self.stopped:
                self._hear(turn.sounds)
            if turn.error is not None and not self.stopped:
                self._lost(turn.error)
        except Exception as exc:  # noqa: BLE001 - whoever awaits `ended` gets it; the other streams go on
            self.stopped = True
            self._end(exc)
        if turn.last:
            self._end(None)

    def _give_up(self) -> None:
        logger.error("what was said last was not heard within %.0f s", HEARD_WITHIN_S)
        self.give(_Turn(error=None if self.deaf else EngineUnavailable("heard too late"), last=True))
        self.stop()

    def _end(self, error: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


@dataclass(eq=False, slots=True)
class _Turn:
    """What one turn of the thread does for one stream."""

    piece: AudioChunk | None = None
    pcm: bytes = b""
    scores: list[float] = field(default_factory=list)
    sounds: list[Sound] = field(default_factory=list)
    error: EngineUnavailable | None = None
    last: bool = False


class Ears:
    """Hears every stream that is opened with `listen`. Ends with `aclose`; who still speaks then is told."""

    def __init__(self, model: VoiceModel, tick_s: float = TICK_S, observe: Observe = ignore) -> None:
        self.lock = threading.Lock()
        self._model, self._tick_s, self._observe = model, tick_s, observe
        self._pushed = threading.Condition(self.lock)
        self._ending = threading.Event()
        self._ready: dict[Hearing, None] = {}  # in the order of their next turn
        self._thread: threading.Thread | None = None
        self._idle = False
        self._closed = False
        self._looked_at = 0.0

    def listen(self, endpointer: Endpointer, hear: Hear, lost: Lost) -> Hearing:
        """Open a stream on the running loop: sounds are given to `hear` there, once a tick."""
        return Hearing(self, endpointer, self._model.fresh(), hear, lost)

    def wake(self, hearing: Hearing) -> None:
        """There is something to do for this stream."""
        with self.lock:
            self._ready[hearing] = None
            if not self._closed:
                self._run()
                return
        while self._turn():
            pass

    async def aclose(self) -> None:
        await asyncio.to_thread(self._leave)
        while self._ready:
            self._turn()

    def _leave(self) -> None:
        """End the thread. Also at the process's end: while it is inside the model, that would abort it."""
        with self.lock:
            self._closed = True
            self._ending.set()
            self._pushed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(CLOSE_WAIT_S)
        atexit.unregister(self._leave)

    def _run(self) -> None:
        """See that the thread works, under the lock. A forked process has none of its own."""
        if self._thread is None or not self._thread.is_alive():
            if self._thread is None:
                atexit.register(self._leave)
            self._thread = threading.Thread(target=self._work, name="ears", daemon=True)
            self._thread.start()
        elif self._idle:
            self._pushed.notify_all()

    def _work(self) -> None:
        while self._awaits():
            began = time.monotonic()
            try:
                behind = self._turn()
            except Exception:
                logger.exception("a turn of hearing failed")
                behind = False
            worked_s = time.monotonic() - began
            self._look(began, worked_s)
            if not behind:
                self._ending.wait(max(0.0, self._tick_s - worked_s))

    def _awaits(self) -> bool:
        """Sleep until there is something to hear; False to end the thread."""
        with self.lock:
            if not self._ready and not self._closed:
                self._idle = True
                self._pushed.wait(IDLE_S)
                self._idle = False
            if self._ready and not self._closed:
                return True
            self._thread = None
            return False

    def _turn(self) -> bool:
        """One run of each stream that waits. True when one of them has more."""
        with self.lock:
            turns = self._take()
            behind = bool(self._ready)
        self._score({one: turn for one, turn in turns.items() if turn.pcm})
        for hearing, turn in turns.items():
            _endpoint(hearing, turn)
        _deliver(turns)
        return behind

    def _take(self) -> dict[Hearing, _Turn]:
        """Who is live always gets a turn; of those who are behind, so many that live ones need not wait."""
        turns: dict[Hearing, _Turn] = {}
        late = 0
        for hearing in list(self._ready):
            if hearing.behind_s > LATE_S:
                late += 1
                if late > BATCH:
                    continue
            del self._ready[hearing]
            if hearing.stopped:
                continue
            piece, more = hearing.take()
            pcm = b"" if piece is None else piece.pcm
            turns[hearing] = _Turn(piece, pcm, last=not more and hearing.finished)
            if more:
                self._ready[hearing] = None
        return turns

    def _score(self, turns: dict[Hearing, _Turn]) -> None:
        hearing = [(one, turn) for one, turn in turns.items() if not one.deaf]
        at = 0
        while hearing:
            for first in range(0, len(hearing), BATCH):
                self._round(hearing[first : first + BATCH], at)
            at += WINDOW_BYTES
            hearing = [(one, turn) for one, turn in hearing if not turn.error and at < len(turn.pcm)]

    def _round(self, batch: list[tuple[Hearing, _Turn]], at: int) -> None:
        """Score one window of each; when that fails, each alone: one stream never takes others with it."""
        try:
            if self._closed:
                raise EngineUnavailable("nobody hears any more")  # noqa: TRY301
            windows = [turn.pcm[at : at + WINDOW_BYTES] for _, turn in batch]
            scores = self._model.score([one.state for one, _ in batch], windows)
        except Exception as exc:  # noqa: BLE001 - the thread's top: these streams fail, the others go on
            if len(batch) == 1:
                batch[0][1].error = _unavailable(exc)
                return
            for single in batch:
                self._round([single], at)
            return
        for (_, turn), score in zip(batch, scores, strict=True):
            turn.scores.append(score)

    def _look(self, now: float, worked_s: float) -> None:
        if now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        self._observe("vad_tick_s", worked_s)
        with self.lock:
            behind_s = max((one.behind_s for one in self._ready), default=0.0)
        self._observe("vad_behind_s", behind_s)


def _endpoint(hearing: Hearing, turn: _Turn) -> None:
    """From scores to sounds."""
    try:
        piece = turn.piece
        if piece is not None and piece.hole is not None:
            turn.sounds = (
                [Missed(piece.start_s, piece.hole)]
                if hearing.deaf
                else hearing.endpointer.miss(piece.start_s, piece.hole)
            )
        elif piece is not None and turn.scores:
            turn.sounds = hearing.endpointer.feed(_scored(piece, len(turn.scores)), turn.scores)
            if hearing.behind_s > LATE_S:  # what waits says it better, and holds less memory
                turn.sounds = [sound for sound in turn.sounds if not isinstance(sound, Guess)]
        if not hearing.deaf and turn.error is None:
            turn.sounds += hearing.splits()
            turn.sounds += hearing.endpointer.finish() if turn.last else []
    except Exception as exc:
        logger.exception("a stream cannot be heard any more")
        turn.error = _unavailable(exc)
    hearing.deaf = hearing.deaf or turn.error is not None


def _scored(piece: AudioChunk, windows: int) -> AudioChunk:
    size = windows * WINDOW_BYTES
    return piece if size == len(piece.pcm) else AudioChunk(piece.start, piece.pcm[:size])


def _unavailable(exc: Exception) -> EngineUnavailable:
    return exc if isinstance(exc, EngineUnavailable) else EngineUnavailable(f"hearing: {type(exc).__name__}")


def _deliver(turns: dict[Hearing, _Turn]) -> None:
    """One wake-up a loop."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Hearing, _Turn]]] = {}
    for hearing, turn in turns.items():
        if turn.sounds or turn.error is not None or turn.last:
            loops.setdefault(hearing.loop, []).append((hearing, turn))
    for loop, theirs in loops.items():
        try:
            loop.call_soon_threadsafe(_give, theirs)
        except RuntimeError:  # the loop has ended: nobody waits any more
            for hearing, _ in theirs:
                hearing.stopped = True


def _give(theirs: list[tuple[Hearing, _Turn]]) -> None:
    for hearing, turn in theirs:
        hearing.give(turn)


async def sounds_of(
    ears: Listener, endpointer: Endpointer, chunks: AsyncIterator[AudioChunk]
) -> AsyncIterator[Sound]:
    """The sounds of a recording, asked for as far ahead as AHEAD_S. Raises EngineUnavailable."""
    came: asyncio.Queue[Sound | EngineUnavailable | None] = asyncio.Queue()

    def hear(sounds: Sequence[Sound]) -> None:
        for sound in sounds:
            came.put_nowait(sound)

    ear = ears.listen(endpointer, hear, came.put_nowait)
    ear.ended.add_done_callback(lambda _: came.put_nowait(None))
    try:
        at_s = 0.0
        async for chunk in chunks:
            ear.push(chunk)
            while at_s < chunk.end_s - AHEAD_S:
                sound = await _next(came)
                if sound is None:
                    return
                at_s = sound.at_s if isinstance(sound, Heard) else at_s
                yield sound
        ear.close()
        while sound := await _next(came):
            yield sound
    finally:
        ear.stop()


async def _next(came: asyncio.Queue[Sound | EngineUnavailable | None]) -> Sound | None:
    try:
        async with asyncio.timeout(HEARD_WITHIN_S):
            sound = await came.get()
    except TimeoutError:
        raise EngineUnavailable("heard too late") from None
    if isinstance(sound, EngineUnavailable):
        raise sound
    return sound
