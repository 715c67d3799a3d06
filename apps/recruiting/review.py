"""One interview as a recruiter reviews it: words and certainty, scores and quotes, state of the analysis."""

from __future__ import annotations

from dataclasses import dataclass

from apps.assessment.corrections import LateAudio, late_audio_of
from apps.assessment.models import Evidence, Score
from apps.assessment.passages import Passage, passages_of
from apps.assessment.selectors import TurnReading, turn_readings
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import ANALYSE
from apps.ops.jobs import job_for_subject
from apps.ops.models import Job
from inference.assessment import DIMENSIONS, STAR_NAMES


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """One dimension of an answer: what counts, and what the live reading said when it differs."""

    name: str
    evidence: Evidence
    live_value: float | None


@dataclass(frozen=True, slots=True)
class AnswerReview:
    turn: Turn
    passages: tuple[Passage, ...]
    score: Score | None
    live: Score | None
    dimensions: tuple[DimensionRow, ...]
    star: tuple[tuple[str, bool, str], ...]
    late: LateAudio | None

    @property
    def changed(self) -> bool:
        """Whether the second reading came to another score than the live one."""
        return bool(self.live and self.score and self.live.value != self.score.value)


@dataclass(frozen=True, slots=True)
class AnalysisState:
    """Where the analysis stands. `state`: before, waiting, running, done, failed, timed_out."""

    state: str
    reason: str = ""
    read: int = 0
    answers: int = 0
    correcting: int = 0  # answers whose late audio is being heard

    @property
    def under_way(self) -> bool:
        return self.state in {"waiting", "running"} or self.correcting > 0


def answers_reviewed(interview: Interview) -> list[AnswerReview]:
    """Every question of the interview in order, answered or not."""
    readings = turn_readings(interview)
    late = late_audio_of([reading.turn for reading in readings])
    return [_review(reading, late.get(reading.turn.pk)) for reading in readings]


def analysis_state(interview: Interview) -> AnalysisState:
    """What the recruiter is told about the analysis of this interview."""
    job = job_for_subject(kind=ANALYSE, subject_id=interview.pk)
    answered = interview.turns.filter(status__in=[Turn.Status.ANSWERED, Turn.Status.UNSCORED])
    read = answered.filter(scores__stage=Score.Stage.DEEP).count()
    late = late_audio_of(list(interview.turns.all())).values()
    correcting = sum(one.state == "waiting" for one in late)
    if job is None:
        return AnalysisState("before", answers=answered.count(), read=read, correcting=correcting)
    states: dict[str, str] = {
        Job.Status.QUEUED: "waiting",
        Job.Status.RUNNING: "running",
        Job.Status.DONE: "done",
        Job.Status.DEAD: "failed",
        Job.Status.TIMEOUT: "timed_out",
    }
    return AnalysisState(states[job.status], job.reason, read, answered.count(), correcting)


def _review(reading: TurnReading, late: LateAudio | None) -> AnswerReview:
    score = reading.score
    return AnswerReview(
        turn=reading.turn,
        passages=tuple(passages_of(reading.turn)),
        score=score,
        live=reading.live,
        dimensions=tuple(_dimensions(score, reading.live)),
        star=tuple(_star(score)),
        late=late,
    )


def _dimensions(score: Score | None, live: Score | None) -> list[DimensionRow]:
    if score is None:
        return []
    before = {part.dimension: float(part.value) for part in live.evidence.all()} if live else {}
    parts = {part.dimension: part for part in score.evidence.all()}
    rows = []
    for name in DIMENSIONS:
        if name in parts and parts[name].weight:
            was = before.get(name) if live != score else None
            rows.append(DimensionRow(name, parts[name], was if was != float(parts[name].value) else None))
    return rows


def _star(score: Score | None) -> list[tuple[str, bool, str]]:
    """(part, present, quote) for answers that tell of a time; nothing for others."""
    if score is None or not score.star:
        return []
    parts = ((name, score.star.get(name) or {}) for name in STAR_NAMES)
    return [(name, bool(part.get("present")), part.get("quote") or "") for name, part in parts]
