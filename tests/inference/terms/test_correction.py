"""Names put right by their sound, over what the real model wrote of the recorded clips."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from inference.assessment import Word
from inference.ports import Transcript
from inference.terms.correction import corrected
from inference.terms.gathering import MOST_TERMS
from inference.terms.lexicon import names
from tests.inference.spoken import clip

HEARD = [json.loads(line) for line in Path(__file__).with_name("heard.jsonl").read_text("utf-8").splitlines()]
JARGON = clip("jargon").terms
STRANGERS = {  # terms of other questions: none of the recorded speakers says one of them
    "web": ("index", "profiler", "p95", "CDN", "MySQL", "nginx", "React", "Vue", "OAuth", "S3"),
    "infra": (
        "Terraform",
        "Ansible",
        "Prometheus",
        "Grafana",
        "Elasticsearch",
        "RabbitMQ",
        "Cassandra",
        "Go",
    ),
    "chinese": (
        "索引",
        "缓存",
        "慢查询",
        "高并发",
        "分布式",
        "消息队列",
        "数据库",
        "微服务",
        "负载均衡",
        "灰度",
    ),
    "people": ("Siobhan", "Nguyen", "Oerlikon", "Jenkins", "Hadoop", "Pandas", "Keras", "Django", "Flask"),
}


def transcript(row: dict[str, Any]) -> Transcript:
    words = tuple(Word(text, at, at + 0.5, sure) for at, (text, sure) in enumerate(row["words"]))
    return Transcript(row["text"], row["language"], words, fmean(sure for _, sure in row["words"]))


def said(*words: tuple[str, float], language: Any = "en", glue: str = " ") -> Transcript:
    placed = tuple(Word(text, at, at + 1.0, sure) for at, (text, sure) in enumerate(words))
    return Transcript(glue.join(text for text, _ in words), language, placed, 0.9)


def test_misheard_names_become_the_question_s_terms_and_what_was_heard_is_kept() -> None:
    plain = next(transcript(row) for row in HEARD if row["clip"] == "jargon" and not row["hinted"])
    right = corrected(plain, JARGON)
    assert all(term in right.text for term in JARGON)
    assert right.raw == plain.text
    assert {word.text.strip(",."): word.heard for word in right.words if word.heard} == {
        "Kafka": "Caffet",
        "PostgreSQL": "Postver SQL.",
        "Redis": "riddies,",
    }
    assert " ".join(word.text for word in right.words) == right.text
    named = next(word for word in right.words if word.text == "PostgreSQL.")
    first, last = (next(word for word in plain.words if word.text == one) for one in ("Postver", "SQL."))
    assert (named.start_s, named.end_s) == (first.start_s, last.end_s)


@pytest.mark.parametrize("terms", STRANGERS.values(), ids=STRANGERS.keys())
def test_the_terms_of_other_questions_change_no_recorded_answer(terms: tuple[str, ...]) -> None:
    changed = [
        row["text"] for row in HEARD if corrected(transcript(row), terms).text.rstrip("。") != row["text"]
    ]
    assert changed == []


def test_no_known_name_is_found_in_an_answer_that_is_not_about_it() -> None:
    known = sorted(names())
    others = [transcript(row) for row in HEARD if row["clip"] != "jargon"]
    for first in range(0, len(known), MOST_TERMS):
        terms = tuple(known[first : first + MOST_TERMS])
        assert all(corrected(heard, terms).text.rstrip("。") == heard.text for heard in others)


def test_the_jargon_changes_no_answer_that_is_not_about_it() -> None:
    others = [row for row in HEARD if row["clip"] != "jargon"]
    assert all(corrected(transcript(row), JARGON).text.rstrip("。") == row["text"] for row in others)


@pytest.mark.parametrize(
    ("word", "term"), [("celery", "Salary"), ("coffee", "Kafka"), ("react", "Redact"), ("RPC", "gRPC")]
)
def test_a_word_that_the_language_knows_and_that_was_surely_heard_stays(word: str, term: str) -> None:
    heard = said(("we", 0.9), (word, 0.8), ("there", 0.9))
    assert corrected(heard, (term,)) == heard


def test_a_strange_word_that_sounds_like_a_term_is_put_right_however_sure() -> None:
    assert corrected(said(("riddies,", 0.9)), ("Redis",)).text == "Redis,"
    assert corrected(said(("Jango", 0.9)), ("Django",)).text == "Django"


def test_an_english_word_stays_in_its_case_unless_it_was_hardly_heard() -> None:
    assert corrected(said(("fresh", 0.9), ("celery", 0.9)), ("Celery",)).text == "fresh celery"
    unsure = corrected(said(("fresh", 0.9), ("celery", 0.2)), ("Celery",))
    assert unsure.text == "fresh Celery"
    assert not any(word.heard for word in unsure.words)  # the same letters: nothing was misheard


def test_a_common_term_never_takes_the_sentence_s_capital() -> None:
    assert corrected(said(("Index", 0.3), ("first", 0.9)), ("index",)).text == "Index first"


def test_a_text_that_is_all_a_guess_gets_no_names() -> None:
    guess = Transcript("riddies", "en", (Word("riddies", 0.0, 1.0, 0.2),), 0.2)
    assert corrected(guess, ("Redis",)) == guess


def test_letters_spelt_out_are_heard_one_by_one() -> None:
    assert corrected(said(("GURPC", 0.6)), ("gRPC",)).text == "gRPC"
    assert corrected(said(("SMZ", 0.9)), ("SNS",)).text == "SMZ"


def test_two_letters_are_too_little_to_tell_a_name_by() -> None:
    heard = said(("I", 0.4), ("gow", 0.2), ("home", 0.9))
    assert corrected(heard, ("Go",)).text == heard.text


def test_no_text_stays_no_text() -> None:
    silent = Transcript("", "en", low_confidence=True)
    assert corrected(silent, JARGON) == silent


def test_a_text_without_words_is_as_sure_as_its_transcript() -> None:
    unsure = corrected(Transcript("We ran riddies there.", "en", confidence=0.3), JARGON)
    assert (unsure.text, unsure.words) == ("We ran Redis there.", ())


def test_a_name_is_found_across_words_but_not_across_a_pause_in_the_sentence() -> None:
    assert corrected(said(("cooper", 0.3), ("netties", 0.3)), ("Kubernetes",)).text == "Kubernetes"
    apart = said(("cooper,", 0.9), ("netties", 0.9))
    assert corrected(apart, ("Kubernetes",)).text == apart.text


def test_doubted_characters_become_the_term_that_sounds_the_same() -> None:
    heard = said(("先", 0.9), ("看", 0.9), ("所", 0.3), ("引", 0.4), ("再", 0.9), language="zh", glue="")
    right = corrected(heard, ("索引",))
    assert right.text == "先看索引再。"
    assert [(word.text, word.heard) for word in right.words if word.heard] == [("索引", "所引")]
    sure = said(("先", 0.9), ("看", 0.9), ("所", 0.9), ("引", 0.9), ("再", 0.9), language="zh", glue="")
    assert corrected(sure, ("索引",)).text == "先看所引再。"


def test_characters_that_many_do_not_tell_apart_are_taken_for_the_term_when_doubted() -> None:
    heard = said(("分", 0.4), ("布", 0.3), ("斯", 0.3), language="zh", glue="")
    assert corrected(heard, ("分布式",)).text == "分布式。"
    assert corrected(said(("不", 0.4), ("是", 0.3), language="zh", glue=""), ("索引",)).text == "不是。"


def test_a_foreign_name_in_doubted_characters_becomes_the_name() -> None:
    heard = said(("用", 0.9), ("瑞", 0.3), ("迪", 0.3), ("斯", 0.3), ("存", 0.9), language="zh", glue="")
    assert corrected(heard, ("Redis",)).text == "用Redis存。"
    known = said(("读", 0.9), ("卡", 0.9), ("夫", 0.9), ("卡", 0.9), language="zh", glue="")
    assert corrected(known, ("Kafka",)).text == "读卡夫卡。"  # the writer, surely heard


def test_english_names_within_chinese_are_kept_and_spelt_as_the_term() -> None:
    heard = said(("用", 0.9), ("kafka", 0.9), ("扛", 0.9), ("QPS", 0.9), language="zh", glue="")
    assert corrected(heard, ("Kafka", "QPS")).text == "用Kafka扛QPS。"


def test_chinese_comes_out_simplified_and_with_a_mark_in_text_and_words() -> None:
    heard = said(("識", 0.9), ("別", 0.9), language="zh", glue="")
    right = corrected(heard, ())
    assert (right.text, [word.text for word in right.words]) == ("识别。", ["识", "别"])
    assert right.raw == "識別"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("我负责缓存", "我负责缓存。"),
        ("这样可以吗", "这样可以吗？"),
        ("我不知道是什么", "我不知道是什么。"),
        ("我做了缓存，然后", "我做了缓存，然后，"),
        ("已经有了。", "已经有了。"),
        ("用的是 Kafka", "用的是 Kafka。"),
    ],
)
def test_an_utterance_in_chinese_ends_with_its_mark(text: str, written: str) -> None:
    assert corrected(Transcript(text, "zh"), ()).text == written


def test_english_is_left_as_it_ends() -> None:
    assert corrected(Transcript("I have not", "en"), ()).text == "I have not"
