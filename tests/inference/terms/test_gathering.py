from __future__ import annotations

from inference.terms.gathering import MOST_TERMS, gathered


def test_listed_terms_come_first_and_each_once() -> None:
    assert gathered(("Redis", "慢查询", "redis"), "How do you run Redis?") == ("Redis", "慢查询")


def test_names_in_the_question_and_the_title_are_terms_too() -> None:
    found = gathered((), "How do you use Kafka with C++, and what is your p95?", "Senior Django engineer")
    assert found == ("Kafka", "C++", "p95", "Django")
    assert gathered((), "Redis 变慢了，QPS也掉了") == ("Redis", "QPS")


def test_a_sentence_s_first_word_and_ordinary_words_are_no_names() -> None:
    assert gathered((), "Tell me about a time you solved a hard problem. Why did it matter? I see.") == ()


def test_no_more_than_the_prompt_can_hold() -> None:
    assert len(gathered([f"Term{i}x" for i in range(90)])) < MOST_TERMS + 1
    long = gathered(["supercalifragilistic" * 3] * 1 + [f"name{i} of a long product line" for i in range(40)])
    assert sum(len(term) for term in long) < 300
