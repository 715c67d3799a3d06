"""Everything the server may tell a live interview page, and nothing else.

The page, the consumer, the tests and the recorder all use these classes. Times ending in `_s` are seconds on
the audio clock of the turn they belong to. `turn` and the socket's `answer` are the same number.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from inference.assessment import Dimension, Flag, Grade, Source
from inference.audio import MissingWhy

Mode = Literal["voice", "text"]
EndReason = Literal["done", "silence", "time_limit", "text", "skipped", "no_answer"]
Outcome = Literal["complete", "degraded", "unscored"]


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    eid: int = 0


class _TurnEvent(_Event):
    turn: int


class WordHeard(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    start_s: float
    end_s: float
    confidence: float
    heard: str = ""


class SessionReady(_Event):
    """Sent once a socket is live. `reason` says in one line why the mode is `text`."""

    type: Literal["session.ready"] = "session.ready"
    mode: Mode
    reason: str = ""


class QuestionAsked(_TurnEvent):
    """`number` of `total` counts the template's questions; a follow-up keeps the number of its question."""

    type: Literal["question.asked"] = "question.asked"
    text: str
    number: int
    total: int
    kind: Literal["main", "follow_up"]
    limit_s: float


class AnswerOpened(_TurnEvent):
    """Audio of `turn` may be sent from seq 0."""

    type: Literal["answer.opened"] = "answer.opened"


class SpeechStarted(_TurnEvent):
    type: Literal["speech.started"] = "speech.started"
    at_s: float


class TranscriptPartial(_TurnEvent):
    """The current guess for the utterance in progress; replaces the one before.

    The first `stable_chars` characters will not change unless the final does.
    """

    type: Literal["transcript.partial"] = "transcript.partial"
    utterance: int
    text: str
    stable_chars: int = 0


class TranscriptFinal(_TurnEvent):
    """One finished utterance. A later one with the same `utterance` corrects it (a late decode).

    Its audio is start_s to end_s; the voice itself ended at `speech_end_s`, which a rebuilt session needs.
    `guessed`: no engine has heard it whole, the text is the last guess. `raw` is what the engine wrote, where
    `text` is another: names were put right by their sound, or a mark was put at the end.
    """

    type: Literal["transcript.final"] = "transcript.final"
    utterance: int
    text: str
    words: tuple[WordHeard, ...] = ()
    start_s: float
    end_s: float
    confidence: float = 0.0
    low_confidence: bool = False
    language: str = "en"
    speech_end_s: float | None = None
    guessed: bool = False
    raw: str = ""


class AudioMissing(_TurnEvent):
    """`seconds` of the answer at `at_s` were lost on their way and will not come. They have no samples."""

    type: Literal["audio.missing"] = "audio.missing"
    at_s: float
    seconds: float
    why: MissingWhy


class TurnPaused(_TurnEvent):
    """Soft commit: the score stands unless the speaker goes on."""

    type: Literal["turn.paused"] = "turn.paused"
    at_s: float
    speech_end_s: float


class TurnResumed(_TurnEvent):
    type: Literal["turn.resumed"] = "turn.resumed"
    at_s: float


class TurnWaits(_TurnEvent):
    """Time to think was asked for, or somebody said to be there: silence counts from `until_s` on."""

    type: Literal["turn.waits"] = "turn.waits"
    at_s: float
    until_s: float


class TurnSilent(_TurnEvent):
    """Nothing was said for long: is anybody there? `asked` counts the times in a row that this was asked."""

    type: Literal["turn.silent"] = "turn.silent"
    at_s: float
    asked: int


class TurnTimeLeft(_TurnEvent):
    """Most of the time limit is over."""

    type: Literal["turn.time_left"] = "turn.time_left"
    at_s: float
    left_s: float


class TurnEnded(_TurnEvent):
    """Hard commit: the interviewer takes the floor. `speech_end_s` None: nothing was said.

    `no_answer`: nobody spoke, and nobody answered when asked. It is not scored.
    """

    type: Literal["turn.ended"] = "turn.ended"
    reason: EndReason
    at_s: float
    speech_end_s: float | None = None


class FeedbackStarted(_TurnEvent):
    type: Literal["feedback.started"] = "feedback.started"
    rev: int
    provisional: bool


class FeedbackScore(_TurnEvent):
    type: Literal["feedback.score"] = "feedback.score"
    rev: int
    value: float = Field(ge=0, le=10, allow_inf_nan=False)
    grade: Grade
    provisional: bool
    source: Source
    model: str | None = None
    prompt_version: str | None = None


class FeedbackDelta(_TurnEvent):
    """Growing text; pieces of one (rev, part, dimension) are concatenated.

    The first piece of a dimension carries its `value` (0-10) and `quotes` (exact substrings of the answer).
    """

    type: Literal["feedback.delta"] = "feedback.delta"
    rev: int
    part: Literal["weakness", "detail"]
    text: str
    dimension: Dimension | None = None
    value: float | None = None
    quotes: tuple[str, ...] = ()


class FeedbackWithdrawn(_TurnEvent):
    type: Literal["feedback.withdrawn"] = "feedback.withdrawn"
    rev: int


class FeedbackDone(_TurnEvent):
    """Closes a rev. `degraded`: the LLM failed, the rules judged. `unscored`: there was nothing to judge."""

    type: Literal["feedback.done"] = "feedback.done"
    rev: int
    outcome: Outcome
    provisional: bool = False
    low_confidence: bool = False
    flags: tuple[Flag, ...] = ()


class FollowUp(_TurnEvent):
    type: Literal["question.follow_up"] = "question.follow_up"
    text: str
    source: Source


class ModeChanged(_Event):
    """How the candidate can answer changed; the page says so plainly."""

    type: Literal["mode.changed"] = "mode.changed"
    mode: Mode
    reason: str


class AnswerCorrected(_TurnEvent):
    """Audio that came late was heard: words and score of a closed turn are others than were shown."""

    type: Literal["answer.corrected"] = "answer.corrected"
    late_s: float


class AnalysisReady(_Event):
    type: Literal["analysis.ready"] = "analysis.ready"


class SessionPaused(_Event):
    """Nobody seems to be there: no more questions are put until the page says `go_on`."""

    type: Literal["session.paused"] = "session.paused"


class SessionEnded(_Event):
    type: Literal["session.ended"] = "session.ended"
    reason: Literal["completed", "deleted", "expired"]


class Problem(_Event):
    """Something the candidate should know. The page holds the words for each code."""

    type: Literal["problem"] = "problem"
    code: Literal["asr_lost", "storage_full", "rate_mismatch", "rate_unsupported", "server_error", "too_late"]


Event = Annotated[
    SessionReady
    | QuestionAsked
    | AnswerOpened
    | SpeechStarted
    | TranscriptPartial
    | TranscriptFinal
    | AudioMissing
    | TurnPaused
    | TurnResumed
    | TurnWaits
    | TurnSilent
    | TurnTimeLeft
    | TurnEnded
    | FeedbackStarted
    | FeedbackScore
    | FeedbackDelta
    | FeedbackWithdrawn
    | FeedbackDone
    | FollowUp
    | ModeChanged
    | AnswerCorrected
    | AnalysisReady
    | SessionPaused
    | SessionEnded
    | Problem,
    Field(discriminator="type"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)

# Kept in the event table and replayed after a reconnect; partials and growing text are not (W14).
DURABLE = (
    QuestionAsked,
    AnswerOpened,
    TranscriptFinal,
    AudioMissing,
    TurnPaused,
    TurnResumed,
    TurnWaits,
    TurnEnded,
    FeedbackScore,
    FeedbackWithdrawn,
    FeedbackDone,
    FollowUp,
    ModeChanged,
    AnswerCorrected,
    AnalysisReady,
    SessionEnded,
)
