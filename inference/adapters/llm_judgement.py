"""From the events of an LLM's reply to the pieces that may be shown, held against the rules' reading.

Knows the answer, the rules' assessment and the prompt; knows nothing of HTTP or time. Nothing leaves that the
rules contradict, that is quoted but not in the answer, or that is in the wrong language.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from inference.adapters.llm_reply import (
    CommentText,
    DimensionRead,
    FollowUpRead,
    ReplyEvent,
    ScoreRead,
    WeaknessClosed,
    WeaknessText,
    shown,
)
from inference.adapters.llm_stream import LlmDisputed, LlmUnavailable
from inference.assessment import Answer, Assessment, Dimension, DimensionScore, Language
from inference.nlp.caps import LIMITS
from inference.observe import Observe
from inference.ports import (
    AssessmentDone,
    AssessmentPiece,
    DetailPiece,
    DimensionPiece,
    ScorePiece,
    WeaknessPiece,
)
from inference.prompts import Prompt

MAX_DIFFERENCE = 2.5  # from the rules' score; beyond it one of the two is wrong, and rules can be explained
UNQUOTED_MAX = 3.5  # rubric: a higher value needs a quote
MAX_FOLLOW_UP_CHARS = 240
MIN_QUOTE_CHARS = 2
_LIMITS = {str(name): limit for name, limit in LIMITS.items()}
_QUOTE_ENDS = " \"'“”‘’「」…"


@dataclass(slots=True)
class Judgement:
    """One reply in the making."""

    answer: Answer
    rules: Assessment
    prompt: Prompt
    observe: Observe
    model: str = ""
    _score: float | None = None
    _weakness: str = ""
    _weakness_closed: bool = False
    _by_dimension: dict[Dimension, DimensionScore] = field(default_factory=dict)
    _ruled: set[Dimension] = field(default_factory=set)  # dimensions given to the rules
    _follow_up: str = ""

    @property
    def presentable(self) -> bool:
        """Score and weakness are whole and within bounds: enough to stand without the rest."""
        return self._score is not None and self._weakness_closed

    def read(self, event: ReplyEvent) -> Iterator[AssessmentPiece]:
        """Pieces to show for one event. Raises LlmUnavailable when the reply must not be used."""
        match event:
            case ScoreRead(value):
                yield self._bounded(value)
            case WeaknessText(text):
                self._weakness += text
                yield WeaknessPiece(text)
            case WeaknessClosed():
                self._close_weakness()
            case DimensionRead():
                yield from self._open(event)
            case CommentText(dimension, text):
                yield from self._comment(dimension, text)
            case FollowUpRead(text):
                self._follow_up = "".join(map(shown, text)).strip()

    def finish(self, *, complete: bool) -> Iterator[AssessmentPiece]:
        """What is missing by the rules, then the whole. Only when presentable."""
        for by_rules in self.rules.dimensions:
            if by_rules.dimension not in self._by_dimension:
                yield from self._by_rules(by_rules)
        yield AssessmentDone(self._whole(complete=complete))

    def _bounded(self, value: float) -> ScorePiece:
        rules_score = self.rules.score
        if rules_score is None or abs(value - rules_score) > MAX_DIFFERENCE or value > ceiling(self.rules):
            raise LlmDisputed
        self._score = value
        return ScorePiece(value, self.model, self.prompt.version)

    def _close_weakness(self) -> None:
        if not is_written_in(self.answer.question.language, self._weakness):
            raise LlmUnavailable("invalid")
        self._weakness_closed = True

    def _open(self, read: DimensionRead) -> Iterator[AssessmentPiece]:
        by_rules = next((score for score in self.rules.dimensions if score.dimension == read.dimension), None)
        quotes = self._true_quotes(read.quotes)
        if read.value > UNQUOTED_MAX and not quotes and by_rules:
            self.observe("dimension_by_rules", 1)
            self._ruled.add(read.dimension)
            yield from self._by_rules(by_rules)
            return
        weight = by_rules.weight if by_rules else 0.0
        score = DimensionScore(read.dimension, read.value, weight, quotes, "")
        self._by_dimension[read.dimension] = score
        yield DimensionPiece(score)

    def _by_rules(self, score: DimensionScore) -> Iterator[AssessmentPiece]:
        self._by_dimension[score.dimension] = score
        yield DimensionPiece(score)
        if score.comment:
            yield DetailPiece(score.dimension, score.comment)

    def _comment(self, dimension: Dimension, text: str) -> Iterator[AssessmentPiece]:
        if dimension in self._ruled:
            return
        score = self._by_dimension[dimension]
        self._by_dimension[dimension] = replace(score, comment=score.comment + text)
        yield DetailPiece(dimension, text)

    def _true_quotes(self, quotes: tuple[str, ...]) -> tuple[str, ...]:
        """The quotes that the answer holds letter for letter, each once, as the speaker said them."""
        found = [self._in_answer(quote) for quote in quotes]
        dropped = found.count(None)
        if dropped:
            self.observe("quote_dropped", dropped)
        return tuple(dict.fromkeys(quote for quote in found if quote))

    def _in_answer(self, quote: str) -> str | None:
        for candidate in (quote, quote.strip(_QUOTE_ENDS), quote.strip(_QUOTE_ENDS).rstrip(".。")):
            if len(candidate) < MIN_QUOTE_CHARS or not any(map(str.isalnum, candidate)):
                continue
            if candidate in self.answer.text:
                return candidate
            if passage := self.prompt.answer.passage(self.answer.text, candidate):
                return passage
        return None

    def _whole(self, *, complete: bool) -> Assessment:
        notes = self.rules.notes
        if not complete:
            notes += ("incomplete",)
        if self.prompt.shortened:
            notes += ("shortened",)
        order = [score.dimension for score in self.rules.dimensions]
        return replace(
            self.rules,
            score=self._score,
            weakness=self._weakness.strip(),
            dimensions=tuple(sorted(self._by_dimension.values(), key=lambda s: _place(order, s.dimension))),
            follow_up=self._good_follow_up() or self.rules.follow_up,
            source="llm",
            model=self.model,
            prompt_version=self.prompt.version,
            notes=notes,
        )

    def _good_follow_up(self) -> str | None:
        """The model's question, if it is one question in the interview's language."""
        text = self._follow_up
        single = text.count("?") + text.count("？") == 1 and text.rstrip('"”」 ').endswith(("?", "？"))
        if single and len(text) <= MAX_FOLLOW_UP_CHARS and is_written_in(self.answer.question.language, text):
            return text
        self.observe("follow_up_dropped", 1)
        return None


def ceiling(rules: Assessment) -> float:
    """The highest score that the rules' caps allow. A cap unknown here allows no more than the rules gave."""
    return min((_LIMITS.get(name, rules.score or 0.0) for name in rules.caps), default=10.0)


def _place(order: list[Dimension], dimension: Dimension) -> int:
    return order.index(dimension) if dimension in order else len(order)


def is_written_in(language: Language, text: str) -> bool:
    """By script: Chinese has Han characters besides its English terms, English is not mostly Han."""
    letters = [char for char in text if char.isalpha()]
    han = sum("\u4e00" <= char <= "\u9fff" for char in letters)
    if language == "zh":
        return han >= max(1, len(letters) // 5)
    return bool(letters) and han * 3 < len(letters)
