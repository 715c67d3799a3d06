from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from inference.adapters.fakes import ScriptedAssessor
from inference.assessment import Answer, QuestionSpec, Word
from inference.feedback import Judge
from inference.nlp.score import assess
from inference.nlp.stream import pieces
from inference.observe import ignore
from inference.terms.doubt import sure_of_names

STORY = QuestionSpec("Tell me about a time you solved a hard technical problem.", "en", "behavioural")
QUESTION = QuestionSpec("Which technologies did you use?", "en", "technical")


def answer(*words: tuple[str, float, str], **more: object) -> Answer:
    said = tuple(Word(text, at, at + 1.0, sure, heard) for at, (text, sure, heard) in enumerate(words))
    return Answer(QUESTION, " ".join(word.text for word in said), said, 9.0, **more)  # type: ignore[arg-type]


HEARD = answer(
    ("We", 0.9, ""), ("put", 0.2, ""), ("Kafka", 0.3, ""), ("before", 0.9, ""), ("Redis", 0.9, "riddies")
)


@pytest.mark.parametrize(
    ("follow_up", "asked"),
    [
        ("What did Kafka change?", "Did you say “Kafka”? What did Kafka change?"),
        ("Why Redis?", "Did you say “Redis”? Why Redis?"),
        ("What did you put in it?", "What did you put in it?"),  # an unsure ordinary word is no name
        ("By how much?", "By how much?"),
        ("Did you say “Kafka”? Why?", "Did you say “Kafka”? Why?"),
        ("Kafka 起了什么作用？", "你刚才说的是“Kafka”吗？Kafka 起了什么作用？"),
        ("What of Kafkaesque?", "What of Kafkaesque?"),
    ],
)
def test_a_follow_up_asks_for_a_doubtful_name_before_it_builds_on_it(follow_up: str, asked: str) -> None:
    assert sure_of_names(follow_up, HEARD) == asked


def test_a_name_that_was_surely_heard_is_built_upon() -> None:
    sure = answer(("We", 0.9, ""), ("ran", 0.9, ""), ("Kafka", 0.9, ""))
    assert sure_of_names("Why Kafka?", sure) == "Why Kafka?"


def test_a_name_that_only_a_guess_holds_is_doubtful() -> None:
    guessed = Answer(QUESTION, "we ran kafka there", (), 3.0, low_confidence=True)
    assert sure_of_names("Why Kafka?", guessed).startswith("Did you say “kafka”?")
    typed = Answer(QUESTION, "we ran kafka there", (), None, low_confidence=True)
    assert sure_of_names("Why Kafka?", typed) == "Why Kafka?"


def test_a_corrected_chinese_term_is_asked_for_in_chinese() -> None:
    heard = Answer(QuestionSpec("怎么优化？", "zh"), "加了索引", (Word("索引", 0, 1, 0.9, "所引"),), 2.0)
    assert sure_of_names("索引建在哪一列？", heard) == "你刚才说的是“索引”吗？索引建在哪一列？"


MOVED = "We moved our queue to Kafka last year. I was responsible for it and things got better."


@pytest.mark.parametrize("by_model", [True, False])
async def test_rules_and_model_alike_ask_before_they_build_on_a_doubtful_name(by_model: bool) -> None:
    words = [(word, 0.3 if word == "Kafka" else 0.9, "") for word in MOVED.split()]
    spoken = replace(answer(*words), question=STORY)
    plain = assess(spoken)
    assert "Kafka" in plain.follow_up
    judge = Judge(
        1, ScriptedAssessor(lambda _: tuple(pieces(plain))) if by_model else None, lambda _: None, ignore
    )
    async with asyncio.timeout(30):
        asked = await judge.judge(spoken)
    assert asked.follow_up == f"Did you say “Kafka”? {plain.follow_up}"
