"""Kinds of question read from their wording, and languages from theirs."""

from __future__ import annotations

import pytest

from inference.assessment import Language, QuestionKind, QuestionSpec
from inference.nlp.language import detect, to_simplified
from inference.nlp.question import Form, kind_and_form


@pytest.mark.parametrize(
    ("text", "kind", "form"),
    [
        ("Tell me about a time you failed.", "behavioural", "story"),
        ("Describe a project you are proud of.", "behavioural", "story"),
        ("What was your biggest failure?", "behavioural", "story"),
        ("Walk me through your career so far.", "behavioural", "career"),
        ("Tell me about yourself.", "behavioural", "career"),
        ("How do you handle conflict in a team?", "behavioural", "approach"),
        ("How would you design a rate limiter?", "technical", "design"),
        ("How would you store passwords?", "technical", "design"),
        ("How would you handle an angry customer?", "behavioural", "approach"),
        ("What is the difference between TCP and UDP?", "technical", "explain"),
        ("Explain what a deadlock is.", "technical", "explain"),
        ("Why do you want to work here?", "motivational", "motive"),
        ("Why should we hire you?", "motivational", "motive"),
        ("Where do you see yourself in five years?", "motivational", "motive"),
        ("What is your greatest strength?", "motivational", "motive"),
        ("Have you managed people before?", "factual", "yes_no"),
        ("How many years of Python do you have?", "factual", "fact"),
        ("Which technologies did you use?", "factual", "fact"),
        ("请讲一个你解决过的最难的技术问题。", "behavioural", "story"),
        ("说说你最大的一次失败。", "behavioural", "story"),
        ("请做一下自我介绍。", "behavioural", "career"),
        ("如何设计一个短链接系统？", "technical", "design"),
        ("HTTP 和 HTTPS 有什么区别？", "technical", "explain"),
        ("你为什么想加入我们公司？", "motivational", "motive"),
        ("你的缺点是什么？", "motivational", "motive"),
        ("你带过团队吗？", "factual", "yes_no"),
        ("你有几年工作经验？", "factual", "fact"),
    ],
)
def test_the_kind_is_read_from_the_wording(text: str, kind: QuestionKind, form: Form) -> None:
    assert kind_and_form(QuestionSpec(text, "en")) == (kind, form)


def test_a_given_kind_is_kept_and_the_form_fits_it() -> None:
    assert kind_and_form(QuestionSpec("Why TCP?", "en", "technical")) == ("technical", "explain")
    assert kind_and_form(QuestionSpec("Anything", "en", "motivational")) == ("motivational", "motive")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I fixed it", "en"),
        ("我修好了", "zh"),
        ("Kafka 消费者 lag 很高", "zh"),
        ("I used the 微信 login for our shop app last year", "en"),
        ("", "en"),
    ],
)
def test_the_language_is_that_of_the_sentence(text: str, language: Language) -> None:
    assert detect(text) == language


def test_traditional_characters_become_simplified_and_the_rest_stays() -> None:
    assert to_simplified("請說說你的經歷, OK?") == "请说说你的经历, OK?"
    assert to_simplified("plain") == "plain"
