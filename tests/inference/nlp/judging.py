"""Shortcuts for tests of the rules: one answer judged, and the labelled answers."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TypedDict

from inference.assessment import STAR_NAMES, Answer, Assessment, Language, QuestionKind, QuestionSpec
from inference.nlp.score import assess

ANSWERS = Path(__file__).parents[2] / "answers"
STORY = "Tell me about a time you solved a hard technical problem."
STORY_ZH = "请讲一个你解决过的最难的技术问题。"
BANDS = {"low": (0.0, 3.5), "mid": (3.5, 7.0), "high": (7.0, 10.0)}


class Labelled(TypedDict):
    id: str
    language: Language
    question: str
    answer: str
    star: str
    band: str
    numbers: int
    relevant: bool
    beats: list[str]
    fillers: int | None
    notes: str
    flags: list[str]


@cache
def labelled(name: str) -> tuple[Labelled, ...]:
    lines = (ANSWERS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def judged(text: str, question: str = STORY, kind: QuestionKind | None = None) -> Assessment:
    language: Language = "en" if question.isascii() else "zh"
    return assess(Answer(QuestionSpec(question, language, kind), text))


def judged_zh(text: str, question: str = STORY_ZH) -> Assessment:
    return judged(text, question)


@cache
def judged_label(name: str) -> dict[str, Assessment]:
    return {
        row["id"]: assess(Answer(QuestionSpec(row["question"], row["language"]), row["answer"]))
        for row in labelled(name)
    }


def score_of(assessment: Assessment) -> float:
    assert assessment.score is not None
    return assessment.score


def in_band(score: float, band: str) -> bool:
    low, high = BANDS[band]
    return low <= score <= high


def star_letters(assessment: Assessment) -> str:
    return "".join(name[0].upper() for name in STAR_NAMES if assessment.star[name].present)


def value_of(assessment: Assessment, dimension: str) -> float:
    return next(d.value for d in assessment.dimensions if d.dimension == dimension)
