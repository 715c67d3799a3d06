"""From an answer to feedback events: the model's stream while it is good, else the rules.

A stream never changes its judge after its first piece: what was shown is withdrawn and said again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from inference import events as ev
from inference.assessment import Answer, Assessment, Flag, grade_for
from inference.nlp.score import assess
from inference.nlp.stream import pieces
from inference.observe import Observe
from inference.ports import (
    AssessmentDone,
    AssessmentPiece,
    Assessor,
    DetailPiece,
    DimensionPiece,
    EngineError,
    JudgementDisputed,
    ScorePiece,
    WeaknessPiece,
)
from inference.terms.doubt import sure_of_names

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Judge:
    """Feedback of one turn. Every reading is a new `rev`; `rev` is the last one begun."""

    turn: int
    llm: Assessor | None
    emit: Callable[[ev.Event], None]
    observe: Observe
    rev: int = 0
    standing: bool = False  # `rev` was begun and not taken back
    _content: bool = field(default=False, repr=False)
    _asked: float = field(default=0.0, repr=False)

    def sketch(self, answer: Answer) -> None:
        """Show where the answer stands at a pause: score and weakness by the rules, provisional."""
        self._begin(provisional=True)
        assessment = self._by_rules(answer)
        if assessment.score is None:
            self._close("unscored", assessment, provisional=True)
            return
        for piece in pieces(assessment):
            if isinstance(piece, ScorePiece | WeaknessPiece):
                self._show(piece, assessment, provisional=True)
        self._close("complete", assessment, provisional=True)

    async def judge(self, answer: Answer) -> Assessment:
        """The whole reading: score, weakness, details. `score` None: there was nothing to judge.

        Its follow-up asks for a name that was not surely heard before it builds on it.
        """
        assessment = await self._judge(answer)
        return replace(assessment, follow_up=sure_of_names(assessment.follow_up, answer))

    async def _judge(self, answer: Answer) -> Assessment:
        self._begin(provisional=False)
        outcome: ev.Outcome = "complete"
        disputed = False
        if self.llm is not None and answer.text:
            try:
                return await self._by_llm(self.llm, answer)
            except EngineError as exc:
                outcome, disputed = "degraded", isinstance(exc, JudgementDisputed)
                logger.warning("turn %d judged by the rules instead of the model: %s", self.turn, exc)
                self.observe("fallback:llm", 1)
                if self._content:
                    self.withdraw()
                    self._begin(provisional=False)
        assessment = self._by_rules(answer)
        if assessment.score is None:
            self._close("unscored", assessment)
            return assessment
        if disputed:
            assessment = _for_review(assessment)
        for piece in pieces(assessment):
            self._show(piece, assessment)
        self._close(outcome, assessment)
        return assessment

    def leave_unscored(self, *, low_confidence: bool) -> None:
        """Say that nothing is judged: no words, or words that no engine could hear."""
        self._begin(provisional=False)
        flags: tuple[Flag, ...] = ("low_confidence", "needs_review") if low_confidence else ()
        self.emit(
            ev.FeedbackDone(
                turn=self.turn, rev=self.rev, outcome="unscored", low_confidence=low_confidence, flags=flags
            )
        )

    def withdraw(self) -> None:
        """Take back what stands, if anything does."""
        if self.standing:
            self.standing = False
            self.emit(ev.FeedbackWithdrawn(turn=self.turn, rev=self.rev))

    async def _by_llm(self, llm: Assessor, answer: Answer) -> Assessment:
        stream: AsyncIterator[AssessmentPiece] = llm.assess(answer)
        async with aclosing(stream) as closing:  # type: ignore[type-var]
            async for piece in closing:
                if isinstance(piece, AssessmentDone):
                    self._close("complete", piece.assessment)
                    return piece.assessment
                self._show(piece, None)
        raise EngineError("the stream ended without a result")

    def _by_rules(self, answer: Answer) -> Assessment:
        began = time.perf_counter()
        assessment = assess(answer)
        self.observe("analysis_s", time.perf_counter() - began)
        return assessment

    def _begin(self, *, provisional: bool) -> None:
        self.rev += 1
        self.standing, self._content = True, False
        self._asked = time.monotonic()
        self.emit(ev.FeedbackStarted(turn=self.turn, rev=self.rev, provisional=provisional))

    def _show(self, piece: AssessmentPiece, rules: Assessment | None, *, provisional: bool = False) -> None:
        """Emit one piece. `rules` is the assessment it comes from, None for the model's stream."""
        event = self._event(piece, rules, provisional)
        if event is None:
            return
        if not self._content and not provisional:
            self.observe("feedback_first_content_s", time.monotonic() - self._asked)
        self._content = True
        self.emit(event)

    def _event(self, piece: AssessmentPiece, rules: Assessment | None, provisional: bool) -> ev.Event | None:
        turn, rev = self.turn, self.rev
        match piece:
            case ScorePiece(value=value):
                return ev.FeedbackScore(
                    turn=turn,
                    rev=rev,
                    value=value,
                    grade=grade_for(value),
                    provisional=provisional,
                    source="llm" if rules is None else "rules",
                    model=piece.model,
                    prompt_version=piece.prompt_version,
                )
            case WeaknessPiece(text):
                return ev.FeedbackDelta(turn=turn, rev=rev, part="weakness", text=text)
            case DimensionPiece(score):
                return ev.FeedbackDelta(
                    turn=turn,
                    rev=rev,
                    part="detail",
                    text="",
                    dimension=score.dimension,
                    value=score.value,
                    quotes=score.quotes,
                )
            case DetailPiece(dimension, text):
                return ev.FeedbackDelta(turn=turn, rev=rev, part="detail", text=text, dimension=dimension)
        return None

    def _close(self, outcome: ev.Outcome, assessment: Assessment, *, provisional: bool = False) -> None:
        self.emit(
            ev.FeedbackDone(
                turn=self.turn,
                rev=self.rev,
                outcome=outcome,
                provisional=provisional,
                low_confidence="low_confidence" in assessment.flags,
                flags=assessment.flags,
            )
        )


def _for_review(assessment: Assessment) -> Assessment:
    """The same, to be looked at by a person."""
    if "needs_review" in assessment.flags:
        return assessment
    return replace(assessment, flags=(*assessment.flags, "needs_review"))
