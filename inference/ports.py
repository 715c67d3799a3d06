"""What the live session needs from engines. Adapters implement these; nothing else does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, runtime_checkable

from inference.assessment import Answer, Assessment, Dimension, DimensionScore, Language, Word
from inference.audio import AudioChunk
from inference.endpointing import Endpointer, Sound


class EngineError(Exception):
    """An engine could not do its work."""


class EngineUnavailable(EngineError):  # noqa: N818 - a state of the world, named as such
    """Worth trying another engine: down, full, broken circuit or past its deadline."""


class EngineBusy(EngineUnavailable):
    """No free slot in time. The engine itself is healthy."""


class JudgementDisputed(EngineUnavailable):
    """It judged, beyond what the rules allow. The rules' result stands, and a person should look at it."""


class RequestRejected(EngineError):  # noqa: N818 - a verdict
    """Not worth trying again anywhere: the request itself is wrong."""


class Priority(IntEnum):
    """Who goes first at a shared engine; lower is sooner."""

    FINAL = 0
    EAGER = 1
    PARTIAL = 2
    CORRECTION = 3
    ANALYSIS = 4


@dataclass(frozen=True, slots=True)
class Speech:
    """Audio to recognise: PCM16LE at 16 kHz, mono, 0 < length <= 30 s.

    `language` None lets the engine detect it. `terms` are names likely to be said.
    `full_window` asks for Whisper's own 30 s window instead of the cut one. `voiced_s` is how much of it the
    voice detector heard as voice, None when nobody listened: the engine then estimates it from the energy.
    `voice_end_s` is where it heard the last of it: voice at its end or start without words is a fault.
    `answer_within_s`: a doubted reading is tried again only if that is likely to end in time; None: always.
    """

    pcm: bytes
    language: Language | None
    terms: tuple[str, ...] = ()
    full_window: bool = False
    with_words: bool = True
    voiced_s: float | None = None
    voice_end_s: float | None = None
    answer_within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was heard. Word times are seconds from the start of the given audio.

    `confidence` is the mean word probability, 0-1. `low_confidence` is the engine's own verdict: a guard
    (repetition, truncation) still failed after the one retry, or the words are too unsure to build on.
    `decode_s` is the time the engine worked, without waiting; `retried` says that it was tried twice.
    `untried`: a second try could still help, there was no time for it. `raw` is what the engine wrote, where
    `text` is another.
    """

    text: str
    language: Language
    words: tuple[Word, ...] = ()
    confidence: float = 0.0
    low_confidence: bool = False
    decode_s: float = 0.0
    retried: bool = False
    untried: bool = False
    raw: str = ""


class VoiceModel(Protocol):
    """Scores windows of speech, synchronously, from one thread at a time."""

    def fresh(self) -> object:
        """What it remembers of one stream, before its first window."""

    def score(self, states: Sequence[object], windows: Sequence[bytes]) -> Sequence[float]:
        """0.0-1.0 for one window of exactly 512 samples of each stream, whose states are changed in place.

        Raises EngineUnavailable, with no state changed.
        """


class OpenEar(Protocol):
    """The hearing of one answer. `dropped` counts chunks that nobody heard, being too far behind."""

    dropped: int
    ended: asyncio.Future[None]  # after the last sound, or when stopped

    def push(self, chunk: AudioChunk) -> None:
        """Take audio or a hole, from any thread. Never waits."""

    def cut(self, at_s: float) -> None:
        """End the open utterance there; nothing if it is closed or paused by then."""

    def close(self) -> None:
        """No more audio: what was pushed is heard, then the answer is finished."""

    def stop(self) -> None:
        """Nothing more is wanted: not one more sound comes."""


class Listener(Protocol):
    """Hears all sessions of a process."""

    def listen(
        self,
        endpointer: Endpointer,
        hear: Callable[[Sequence[Sound]], None],
        lost: Callable[[EngineUnavailable], None],
    ) -> OpenEar:
        """Open an ear whose sounds are given to `hear` on this event loop, in order.

        `lost` is called at most once, when nobody hears the rest of it; holes in it are still told.
        """

    async def aclose(self) -> None: ...


class Recognizer(Protocol):
    """Speech to text, shared by all sessions of a process."""

    async def start(self) -> None:
        """Load the model and decode once, so that no speaker waits for it. Raises EngineUnavailable."""

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        """Transcribe one utterance.

        Waits for its turn by (priority, arrival). A running decode is killed only after 4 s + the audio's
        length; waiting never counts. Cancelling gives a waiting request up at once and lets a running one end
        unheard. Silence and noise give text "". Raises EngineUnavailable (worker lost twice, no model) or
        RequestRejected (empty, odd or over-long audio).
        """

    async def aclose(self) -> None: ...


@runtime_checkable
class Queueing(Protocol):
    """A recogniser that knows how much it has to do."""

    @property
    def busy(self) -> bool:
        """Somebody waits, or it worked most of the time lately: no time for guesses. Cheap."""

    def hasten(self, speech: Speech) -> None:
        """This very value, if it still waits, goes with the finals."""


@dataclass(frozen=True, slots=True)
class ScorePiece:
    """The whole answer's score, 0-10 with one decimal, inside its bounds. Model and prompt if an LLM's."""

    value: float
    model: str | None = None
    prompt_version: str | None = None


@dataclass(frozen=True, slots=True)
class WeaknessPiece:
    """Growing text of the biggest weakness; pieces are concatenated."""

    text: str


@dataclass(frozen=True, slots=True)
class DimensionPiece:
    """Opens the details of one dimension (its value and quotes are complete here)."""

    score: DimensionScore


@dataclass(frozen=True, slots=True)
class DetailPiece:
    """Growing text of one dimension's comment; pieces are concatenated."""

    dimension: Dimension
    text: str


@dataclass(frozen=True, slots=True)
class AssessmentDone:
    """The last piece: everything the earlier ones said, as one value."""

    assessment: Assessment


AssessmentPiece = ScorePiece | WeaknessPiece | DimensionPiece | DetailPiece | AssessmentDone


class Assessor(Protocol):
    """Judges one answer as a stream: score, weakness, then each dimension, then done."""

    def assess(self, answer: Answer) -> AsyncIterator[AssessmentPiece]:
        """Yield ScorePiece, WeaknessPiece+, (DimensionPiece, DetailPiece+)*, AssessmentDone, in this order.

        Raises EngineUnavailable before the first piece (late, down, invalid) or after one (broken off); what
        was yielded must then be taken back. Closing the iterator frees the engine within 1 s.
        """

    async def aclose(self) -> None: ...


class TurnModel(Protocol):
    """Hears whether somebody has finished, shared by all sessions of a process."""

    async def over(self, pcm: bytes) -> float | None:
        """How sure it is, 0.0-1.0, that the turn ends with this audio, a pause of 0.2 s included.

        None when it cannot tell in time; raises nothing.
        """

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Engines:
    """What one process's sessions share, already guarded (see bootstrap).

    `recognizer` None: no model can be had, answers are typed. `llm` None: the rules judge alone. `turns`
    None: words and pauses alone say how long to wait.
    `why_text` says in one line why speech is off.
    """

    voice: Listener | None
    recognizer: Recognizer | None
    llm: Assessor | None
    why_text: str = ""
    turns: TurnModel | None = None
