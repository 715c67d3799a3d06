"""One interview as a recruiter reviews it: words and certainty, scores and quotes, state of the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apps.assessment.models import Evidence, Score
from apps.assessment.selectors import TurnReading, turn_readings
from apps.assessment.word_times import words_placed
from apps.interviews.models import Interview, Turn, Utterance
from apps.interviews.services.live import ANALYSE
from apps.ops.jobs import job_for_subject
from apps.ops.models import Job
from inference.assessment import DIMENSIONS, STAR_NAMES, Word

UNSURE_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of the transcript. `unsure`: the recogniser was not certain of these words."""

    text: str
    unsure: bool = False
    start_s: float | None = None


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

    @property
    def changed(self) -> bool:
        """Whether the second reading came to another score than the live one."""
        return bool(self.live and self.score and self.live.value != self.score.value)


@dataclass(frozen=True, slots=True)
class AnalysisState:
    """Where the analysis stands. `state`: before, waiting, running, done, failed."""

    state: str
    reason: str = ""
    read: int = 0
    answers: int = 0

    @property
    def under_way(self) -> bool:
        return self.state in {"waiting", "running"}


def answers_reviewed(interview: Interview) -> list[AnswerReview]:
    """Every question of the interview in order, answered or not."""
    return [_review(reading) for reading in turn_readings(interview)]


def analysis_state(interview: Interview) -> AnalysisState:
    """What the recruiter is told about the analysis of this interview."""
    job = job_for_subject(kind=ANALYSE, subject_id=interview.pk)
    answered = interview.turns.filter(status__in=[Turn.Status.ANSWERED, Turn.Status.UNSCORED])
    read = answered.filter(scores__stage=Score.Stage.DEEP).count()
    if job is None:
        return AnalysisState("before", answers=answered.count(), read=read)
    states: dict[str, str] = {
        Job.Status.QUEUED: "waiting",
        Job.Status.RUNNING: "running",
        Job.Status.DONE: "done",
        Job.Status.DEAD: "failed",
    }
    return AnalysisState(states[job.status], job.reason, read, answered.count())


def _review(reading: TurnReading) -> AnswerReview:
    score = reading.score
    return AnswerReview(
        turn=reading.turn,
        passages=tuple(passages_of(reading.turn)),
        score=score,
        live=reading.live,
        dimensions=tuple(_dimensions(score, reading.live)),
        star=tuple(_star(score)),
    )


def passages_of(turn: Turn) -> list[Passage]:
    """The transcript that was judged, cut where the recogniser's certainty changes."""
    rows = list(turn.utterances.all())
    decoded = [row for row in rows if row.decode == Utterance.Decode.FULL and row.text]
    spoken = decoded or [row for row in rows if row.decode == Utterance.Decode.LIVE]
    words = [word for row in spoken for word in _words(row)]
    return _cut(turn.transcript, words)


def _words(row: Utterance) -> list[tuple[Word, bool]]:
    """The words of an utterance with whether each is unsure; one without words counts as a single word."""
    words = [Word(**word) for word in row.words]
    if not words and row.text:
        words = [Word(row.text, row.start_s, row.end_s, row.confidence)]
    return [(word, row.low_confidence or word.confidence < UNSURE_BELOW) for word in words]


def _cut(transcript: str, words: Sequence[tuple[Word, bool]]) -> list[Passage]:
    unsure_words = {id(word) for word, unsure in words if unsure}
    passages, position = [], 0
    for placed in words_placed(transcript, [word for word, _ in words]):
        if id(placed.word) not in unsure_words:
            continue
        if placed.start > position:
            passages.append(Passage(transcript[position : placed.start]))
        passages.append(Passage(transcript[placed.start : placed.end], True, placed.word.start_s))
        position = placed.end
    if position < len(transcript):
        passages.append(Passage(transcript[position:]))
    return passages


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
