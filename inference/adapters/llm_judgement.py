"""From the events of an LLM's reply to the pieces that may be shown, held against the rules' reading.

Knows the answer, the rules' assessment and the prompt; knows nothing of HTTP or time. Nothing leaves that the
rules contradict, that is quoted but not in the answer, or that is in the wrong language.
"""

from __future__ import annotations

import re
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

# From the rules' score and from each of their values; beyond it one is wrong, and rules can be explained.
MAX_DIFFERENCE = 2.5
MAX_DISAGREEMENT = 1.0  # between a score and the weighted mean of the values shown beside it
UNQUOTED_MAX = 3.5  # rubric: a higher value needs a quote
MAX_FOLLOW_UP_CHARS = 240
MIN_QUOTE_SIZE = 4  # two words, or four Chinese characters, or one word and two characters
_LIMITS = {str(name): limit for name, limit in LIMITS.items()}
_QUOTE_ENDS = " \"'“”‘’「」…"
_HAN = "\u4e00-\u9fff"
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+(?:['’.,-][^\W_{_HAN}]+)*")


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
        """What is missing by the rules, then the whole. Only when presentable. Raises LlmUnavailable."""
        for by_rules in self.rules.dimensions:
            if by_rules.dimension not in self._by_dimension:
                yield from self._by_rules(by_rules)
        if not self._adds_up():
            raise LlmDisputed if complete else LlmUnavailable("broken_off")
        yield AssessmentDone(self._whole(complete=complete))

    def _bounded(self, value: float) -> ScorePiece:
        rules_score = self.rules.score
        if rules_score is None or _differ(value, rules_score) or value > ceiling(self.rules):
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
        unproved = read.value > UNQUOTED_MAX and not quotes
        if by_rules and (unproved or _differ(read.value, by_rules.value)):
            self.observe("dimension_by_rules", 1)
            self._ruled.add(read.dimension)
            yield from self._by_rules(by_rules)
            return
        value = UNQUOTED_MAX if unproved else read.value
        score = DimensionScore(read.dimension, value, by_rules.weight if by_rules else 0.0, quotes, "")
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
        said = self.answer.text
        for candidate in (quote, quote.strip(_QUOTE_ENDS), quote.strip(_QUOTE_ENDS).rstrip(".。")):
            if not candidate:
                continue
            passage = candidate if candidate in said else self.prompt.answer.passage(said, candidate)
            if passage and proves_something(passage, said):
                return passage
        return None

    def _adds_up(self) -> bool:
        """Whether the score is the mean of the values beside it, within the caps, as the rubric wants it."""
        mean = sum(part.weight * part.value for part in self._by_dimension.values())
        wanted = min(mean, ceiling(self.rules))
        return self._score is not None and round(abs(self._score - wanted), 6) <= MAX_DISAGREEMENT

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


def proves_something(quote: str, said: str) -> bool:
    """Whole words and enough of them: two letters are in every answer. A short answer is quoted whole."""
    words = _WORD.findall(quote)
    size = sum(1 if is_han(word) else 2 for word in words)
    return any(map(str.isalnum, quote)) and (
        words == _WORD.findall(said) or (size >= MIN_QUOTE_SIZE and _in_whole_words(quote, said))
    )


def _in_whole_words(quote: str, said: str) -> bool:
    """Whether the quote stands anywhere in the answer without cutting a word at either end."""
    start = said.find(quote)
    while start >= 0:
        stop = start + len(quote)
        if not (_cuts_a_word(said, start) or _cuts_a_word(said, stop)):
            return True
        start = said.find(quote, start + 1)
    return False


def _cuts_a_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(char.isalnum() and not is_han(char) for char in text[at - 1 : at + 1])


def is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


def _differ(value: float, by_rules: float) -> bool:
    return round(abs(value - by_rules), 6) > MAX_DIFFERENCE


def _place(order: list[Dimension], dimension: Dimension) -> int:
    return order.index(dimension) if dimension in order else len(order)


def is_written_in(language: Language, text: str) -> bool:
    """By script: Chinese has Han characters besides its English terms, English is not mostly Han."""
    letters = [char for char in text if char.isalpha()]
    han = sum(map(is_han, letters))
    if language == "zh":
        return han >= max(1, len(letters) // 5)
    return bool(letters) and han * 3 < len(letters)
