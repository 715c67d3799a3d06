"""What pages and jobs read of scores and reports."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Prefetch

from apps.assessment.models import Report, Score
from apps.interviews.models import Interview, Turn


@dataclass(frozen=True, slots=True)
class TurnReading:
    """One question of an interview with what its answer was worth, live and after the interview."""

    turn: Turn
    live: Score | None
    deep: Score | None

    @property
    def score(self) -> Score | None:
        """The reading that counts."""
        return self.deep or self.live


def turn_readings(interview: Interview) -> list[TurnReading]:
    """Every turn in order with its scores; an open or skipped turn has none."""
    scores = Score.objects.prefetch_related("evidence")
    turns = interview.turns.select_related("question")
    turns = turns.prefetch_related("utterances", Prefetch("scores", scores))
    return [_reading(turn) for turn in turns]


def _reading(turn: Turn) -> TurnReading:
    if turn.status in {Turn.Status.OPEN, Turn.Status.SKIPPED}:
        return TurnReading(turn, None, None)
    by_stage = {score.stage: score for score in turn.scores.all()}
    return TurnReading(turn, by_stage.get(Score.Stage.LIVE), by_stage.get(Score.Stage.DEEP))


def report_for_interview(interview: Interview) -> Report | None:
    return Report.objects.filter(interview=interview).first()


def interview_scores(interview: Interview) -> dict[int, Score]:
    """The score that counts for each answered turn, by turn number."""
    return {
        reading.turn.number: reading.score
        for reading in turn_readings(interview)
        if reading.score is not None
    }
