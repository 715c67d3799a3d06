"""What one answer's session is told beforehand, and what it leaves behind. Knows no engines and no flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inference import events as ev
from inference.assessment import Assessment, Language, QuestionSpec
from inference.transcription import HeardUtterance, Missing


@dataclass(frozen=True, slots=True)
class AnswerBrief:
    """What a session is told about its turn. `spoken` None: the recogniser finds the language itself.

    `any_language`: the speaker chooses it, and is judged in it. `subject` is what the interview is about:
    names in it are likely to be said.

    The rest is for a session that goes on where another one was killed: its audio is pushed from `heard_to_s`
    on, the end of the last utterance `heard` (0.0 without any); the holes that were told are `missing`.
    Time that the speaker asked for lasts until `waits_until_s`; `score_stands`: until more is said.
    With `ended` the turn is over and that was told: what is pushed before `run` is still heard, then judged.
    """

    turn: int
    question: QuestionSpec
    limit_s: float = 180.0
    ask_follow_up: bool = True
    first_rev: int = 1
    spoken: Language | None = None
    any_language: bool = False
    subject: str = ""
    heard: tuple[HeardUtterance, ...] = ()
    heard_to_s: float = 0.0
    missing: tuple[Missing, ...] = ()
    ended: ev.EndReason | None = None
    waits_until_s: float = 0.0
    score_stands: bool = False


def highest_rev(events: Sequence[ev.Event]) -> int:
    return max((getattr(event, "rev", 0) for event in events), default=0)


def score_stands(events: Sequence[ev.Event]) -> bool:
    """Whether the page shows a score of this turn, which is not over."""
    shown = [event.rev for event in events if isinstance(event, ev.FeedbackScore)]
    taken = [event.rev for event in events if isinstance(event, ev.FeedbackWithdrawn)]
    ended = any(isinstance(event, ev.TurnEnded) for event in events)
    return not ended and max(shown, default=0) > max(taken, default=0)


def waits_before(events: Sequence[ev.Event]) -> float:
    """Until when silence does not count, as events tell; more words have ended it, and so has the turn."""
    until_s = 0.0
    for event in events:
        if isinstance(event, ev.TurnWaits):
            until_s = event.until_s
        elif isinstance(event, ev.TurnResumed):
            until_s = min(until_s, event.at_s)
        elif isinstance(event, ev.TurnEnded):
            until_s = 0.0
    return until_s


@dataclass(frozen=True, slots=True)
class AnswerOutcome:
    """How the turn came out. `speech_s` leaves out longer pauses; `speech_end_s` None: nothing was said.

    Audio in `missing` has no words in `transcript`: whoever shows it puts them between the utterances.
    """

    turn: int
    end_reason: ev.EndReason
    transcript: str
    utterances: tuple[HeardUtterance, ...]
    assessment: Assessment | None
    outcome: ev.Outcome
    low_confidence: bool
    speech_s: float
    speech_end_s: float | None
    missing: tuple[Missing, ...] = ()
