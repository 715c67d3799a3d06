"""The stable part of growing guesses."""

from __future__ import annotations

import pytest

from inference.agreement import StablePrefix


def stable(*guesses: str) -> list[str]:
    prefix = StablePrefix()
    return [shown[:length] for shown, length in (prefix.feed(1, guess) for guess in guesses)]


def test_the_first_guess_is_not_stable() -> None:
    assert stable("In my last job") == [""]


def test_what_two_guesses_agree_on_is_stable() -> None:
    assert stable("In my last shop", "In my last job I led") == ["", "In my last"]


def test_a_word_cut_off_by_the_end_of_the_audio_is_not_stable() -> None:
    assert stable("I was respons", "I was responsible for") == ["", "I was"]


def test_case_and_punctuation_do_not_break_the_agreement() -> None:
    assert stable("in my last job i led a team", "In my last job, I led a team of five") == [
        "",
        "In my last job, I led a team",
    ]


def test_chinese_agrees_character_by_character() -> None:
    assert stable("大学生利用", "大学生利用漏洞", "大学生利用漏洞免费") == [
        "",
        "大学生利用",
        "大学生利用漏洞",
    ]


def test_chinese_with_english_names_agrees_on_both() -> None:
    assert stable("我们用Kafka", "我们用Kafka和Redis") == ["", "我们用Kafka"]


def test_a_guess_that_says_something_else_has_nothing_stable() -> None:
    assert stable("In my last job", "Thank you very much", "Thank you very much indeed") == [
        "",
        "",
        "Thank you very much",
    ]


def test_a_new_utterance_starts_anew() -> None:
    prefix = StablePrefix()
    prefix.feed(1, "In my last job")
    assert prefix.feed(2, "In my last job") == ("In my last job", 0)
    assert prefix.feed(2, "In my last job I") == ("In my last job I", len("In my last job"))


def test_what_stood_once_is_shown_as_it_was_whatever_comes_after() -> None:
    prefix = StablePrefix()
    prefix.feed(1, "in my last job I")
    assert prefix.feed(1, "In my last job, I led") == ("In my last job, I led", len("In my last job, I"))
    assert prefix.feed(1, "in my past jobs I led a team") == ("In my last job, I led a team", 17)
    assert prefix.feed(1, "In my") == ("In my last job, I", 17)  # nothing is taken away either
    assert prefix.feed(1, "In my lost job, I led a") == ("In my last job, I led a", 17)
    assert prefix.feed(1, "In my lost job I led a big") == ("In my last job, I led a big", 23)


def test_a_reading_at_a_pause_stands_up_to_its_last_word() -> None:
    prefix = StablePrefix()
    assert prefix.settle(1, "I am proud of what we built.") == ("I am proud of what we built.", 27)
    assert prefix.feed(1, "I am proud of what we build, but") == ("I am proud of what we built, but", 27)
    assert prefix.settle(1, "嗯。") == ("I am proud of what we built", 27)
    assert prefix.settle(2, "...") == ("...", 0)


@pytest.mark.parametrize("text", ["", "...", "。"])
def test_a_guess_without_words_is_harmless(text: str) -> None:
    assert stable(text, text, "Hello") == ["", "", ""]
