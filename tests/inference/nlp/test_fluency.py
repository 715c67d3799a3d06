"""Fillers by position, and pace; neither touches the score."""
# ruff: noqa: E501 - answers are quoted whole

from __future__ import annotations

import pytest

from inference.assessment import Answer, Language, QuestionSpec
from inference.nlp.score import assess
from tests.inference.nlp.judging import STORY, STORY_ZH, judged, judged_zh


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("Um, I fixed it.", 1),
        ("It was, you know, hard.", 1),
        ("Do you know the tool?", 0),
        ("I like the tool, and tools like it.", 0),
        ("It was, like, hard.", 1),
        ("It was kind of hard.", 1),
        ("It is the kind of work I do.", 0),
        ("I mean, it basically worked.", 2),
        ("uh we uh fixed it", 2),
        ("Well, I guess so.", 2),
    ],
)
def test_english_fillers(said: str, count: int) -> None:
    assert judged(said).delivery.fillers == count


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("嗯，我修好了。", 1),
        ("那个旧系统没有文档。", 0),
        ("这个项目很难。", 0),
        ("我觉得，那个，很难。", 1),
        ("然后我写了脚本。", 0),
        ("然后，就是，那个，我写了脚本。", 3),
        ("嗯那个我写了脚本", 2),
        ("怎么说呢，很难。", 1),
    ],
)
def test_chinese_fillers(said: str, count: int) -> None:
    assert judged_zh(said).delivery.fillers == count


def test_fillers_do_not_change_the_score() -> None:
    plain = "Our search was slow. I rewrote the index, and the wait fell from nine seconds to one."
    halting = "Um, our search was slow. I, uh, rewrote the index, and, um, the wait fell from, uh, nine seconds to one."
    assert judged(halting).score == judged(plain).score
    assert judged(halting).delivery.fillers == 4


def test_chinese_fillers_do_not_change_the_score() -> None:
    plain = "我们的搜索很慢，我重写了索引，最后等待时间从九秒降到一秒。"
    halting = "嗯，我们的搜索很慢，呃，我重写了索引，那个，最后等待时间从九秒降到一秒。"
    assert judged_zh(halting).score == judged_zh(plain).score


@pytest.mark.parametrize(
    ("question", "language", "text", "pace"),
    [
        (STORY, "en", "I fixed the slow search job today", 84.0),
        (STORY_ZH, "zh", "我修好了很慢的搜索", 108.0),
        (STORY_ZH, "zh", "我修好了 Kafka", 72.0),
    ],
)
def test_pace_is_words_or_characters_a_minute(
    question: str, language: Language, text: str, pace: float
) -> None:
    assert assess(Answer(QuestionSpec(question, language), text, speech_s=5.0)).delivery.pace == pace


def test_a_typed_answer_has_no_pace() -> None:
    assert judged("I fixed it.").delivery.pace is None
