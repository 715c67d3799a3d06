"""What a recogniser wrote against what can have been said."""

from __future__ import annotations

from typing import Any

import pytest

from inference.adapters.guards import Evidence, fault, invented, units

CLAUSE = "and then I moved the slow queries to a replica "


def seen(text: str, language: Any = "en", voiced_s: float = 2.0, **more: Any) -> Evidence:
    return Evidence(text, language, voiced_s, **more)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (CLAUSE * 3, "en"),
        ("so so so so so so", "en"),
        ("I led I led I led I led the team", "en"),
        ("我们做了优化我们做了优化我们做了优化", "zh"),
        ("嗯嗯嗯嗯嗯嗯", "zh"),
        (f"We used Kafka. {'It was fast, it was fast. ' * 2}Then we stopped.", "en"),
    ],
)
def test_a_loop_is_a_repetition(text: str, language: str) -> None:
    assert fault(seen(text, language)) == "repetition"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("No, no, no, I did not say that", "en"),
        ("It was very, very, very slow", "en"),
        ("对对对，我们用的是这个", "zh"),
        ("We tested it, we shipped it, we watched it", "en"),
        ("Ten percent, then twenty percent, then thirty percent of the traffic moved over", "en"),
    ],
)
def test_people_who_repeat_themselves_are_believed(text: str, language: str) -> None:
    assert fault(seen(text, language)) is None


def test_text_that_compresses_too_well_is_a_repetition_even_when_no_clause_follows_itself() -> None:
    looped = " ".join(f"the service was slow and the {n} service was slow and" for n in ("x", "y") * 6)
    assert fault(seen(looped)) == "repetition"


def test_one_word_for_five_seconds_of_voice_is_cut_off() -> None:
    assert fault(seen("Ignore", voiced_s=5.3)) == "truncation"
    assert fault(seen("", voiced_s=2.0)) == "truncation"
    assert fault(seen("广州", "zh", voiced_s=3.0)) == "truncation"


def test_voice_that_goes_on_without_words_is_cut_off() -> None:
    assert fault(seen(CLAUSE, voiced_s=6.0, wordless_s=1.3)) == "truncation"
    assert fault(seen(CLAUSE, voiced_s=6.0, wordless_s=0.8)) is None


def test_an_invention_over_real_voice_says_nothing_of_it() -> None:
    assert fault(seen("Thanks for watching!", voiced_s=3.0)) == "truncation"
    assert fault(seen("Thank you.", voiced_s=0.3)) is None


def test_a_short_answer_is_whole() -> None:
    assert fault(seen("No.", voiced_s=0.9)) is None
    assert fault(seen("No, I have not.", voiced_s=0.9)) is None
    assert fault(seen("可以", "zh", voiced_s=0.9)) is None


def test_running_into_the_token_limit_is_a_fault() -> None:
    assert fault(seen("I led a team", at_token_limit=True)) == "token_limit"


def test_the_list_of_terms_coming_back_is_an_echo() -> None:
    terms = ("Kubernetes", "Kafka", "gRPC")
    assert fault(seen("Kubernetes, Kafka, gRPC", terms=terms)) == "echo"
    assert fault(seen("We ran Kubernetes with Kafka and gRPC", terms=terms)) is None
    assert fault(seen("Kafka, gRPC, Redis", terms=(*terms, "Redis"))) == "echo"
    assert fault(seen("Kafka, gRPC", terms=terms)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Thanks for watching!",
        "Thank you for watching.",
        "字幕由Amara.org社区提供",
        "请不吝点赞 订阅 转发 打赏支持明镜与点点栏目",
        "Subtitles by the Amara.org community",
        "Thank you very much for watching.",
        "I'll see you in the next video.",
        "Don't forget to like and subscribe",
        "♪♪",
        "[Music]",
        "（掌声）",
        "字幕志愿者 李宗盛",
        "感谢您的收看",
        "我们下期再见",
        "点赞订阅转发",
        "作曲 李宗盛",
        "以下是普通话的句子。",
    ],
)
def test_subtitle_credits_are_never_speech(text: str) -> None:
    assert invented(seen(text, voiced_s=3.0))


@pytest.mark.parametrize(
    "text",
    [
        "Clients subscribe to a topic and the broker pushes to them.",
        "We improved transcription by twenty percent.",
        "My team thanked everyone for watching the launch.",
        "这个栏目请大家点赞之后增长了三成",
        "音乐软件的后端是我写的",
        "Music streaming was our product.",
        "我们订阅了消息队列的主题",
        "下个版本再见到的问题就少了",
    ],
)
def test_an_answer_about_such_things_is_speech(text: str) -> None:
    assert not invented(seen(text, voiced_s=3.0))


def test_thank_you_is_speech_when_somebody_spoke() -> None:
    assert not invented(seen("Thank you.", voiced_s=0.8))
    assert invented(seen("Thank you.", voiced_s=0.1))
    assert invented(seen("谢谢大家。", "zh", voiced_s=0.1))
    assert invented(seen("Thank you.", voiced_s=0.8, no_speech=0.8))


def test_more_words_than_anybody_can_say_in_that_time_are_invented() -> None:
    assert invented(seen("And that is how we moved the whole service over.", voiced_s=0.3))
    assert invented(seen("我们把整个服务都迁移到了新的集群", "zh", voiced_s=0.3))
    assert not invented(seen("And that is how we moved the whole service over.", voiced_s=1.5))
    assert not invented(seen("我们把整个服务都迁移到了新的集群", "zh", voiced_s=1.4))
    assert not invented(seen("No, I have not.", voiced_s=0.4))


def test_units_are_words_and_chinese_characters() -> None:
    assert units("We used Kafka 3.5, didn’t we? 我们用Kafka。") == [
        *("we", "used", "kafka", "3", "5", "didn't", "we", "我", "们", "用", "kafka")
    ]
