"""What an answer is worth and why: the values that rules, prompts, sessions and reports share.

Knows the rubric's dimensions and grades, not how a score is found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Language = Literal["en", "zh"]
QuestionKind = Literal["behavioural", "technical", "motivational", "factual"]
Dimension = Literal["relevance", "structure", "evidence", "ownership", "clarity"]
DIMENSIONS: tuple[Dimension, ...] = ("relevance", "structure", "evidence", "ownership", "clarity")
StarName = Literal["situation", "task", "action", "result"]
STAR_NAMES: tuple[StarName, ...] = ("situation", "task", "action", "result")
Source = Literal["rules", "llm"]
Grade = Literal["A", "B", "C", "D", "E"]
Flag = Literal[
    "injection",
    "off_topic",
    "refusal",
    "too_short",
    "repetition",
    "stuffing",
    "wrong_language",
    "low_confidence",
    "needs_review",
]

GRADES: tuple[tuple[float, Grade], ...] = ((7.5, "A"), (6.0, "B"), (4.5, "C"), (3.5, "D"))


def grade_for(score: float) -> Grade:
    """The one table from a 0-10 score to a grade (rubric: A >= 7.5, B >= 6, C >= 4.5, D >= 3.5, else E)."""
    return next((grade for floor, grade in GRADES if score >= floor), "E")


@dataclass(frozen=True, slots=True)
class Word:
    """One heard word. Times in seconds on the clock of the answer's audio; confidence 0-1.

    `heard` is what the recogniser wrote where that was put right by its sound, else "".
    """

    text: str
    start_s: float
    end_s: float
    confidence: float
    heard: str = ""


@dataclass(frozen=True, slots=True)
class QuestionSpec:
    """A question as the judge needs it. `kind` None: the rules infer it from the text.

    `follow_up_to`: the main question's text when this one follows it up; `kind` is then the main question's.
    """

    text: str
    language: Language
    kind: QuestionKind | None = None
    expected_points: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    follow_up_to: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said or typed to one question. `speech_s` is the time spoken, None when typed."""

    question: QuestionSpec
    text: str
    words: tuple[Word, ...] = ()
    speech_s: float | None = None
    low_confidence: bool = False


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """One rubric dimension: 0-10 with one decimal, exact quotes from the answer, a comment to the speaker."""

    dimension: Dimension
    value: float
    weight: float
    quotes: tuple[str, ...]
    comment: str


@dataclass(frozen=True, slots=True)
class StarPart:
    present: bool
    quote: str | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """How it was said; shown apart and never part of the score.

    `pace` is words a minute in English, characters a minute in Chinese, None when typed.
    """

    fillers: int = 0
    pace: float | None = None


@dataclass(frozen=True, slots=True)
class Assessment:
    """A whole reading of one answer. `score` is None when nothing could be judged (no answer)."""

    score: float | None
    weakness: str
    dimensions: tuple[DimensionScore, ...]
    star: dict[StarName, StarPart]
    quantified: tuple[str, ...]
    relevance: float
    delivery: Delivery
    follow_up: str
    kind: QuestionKind
    source: Source
    flags: tuple[Flag, ...] = ()
    caps: tuple[str, ...] = ()
    model: str | None = None
    prompt_version: str | None = None
    weakest: Dimension | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def grade(self) -> Grade | None:
        return None if self.score is None else grade_for(self.score)
