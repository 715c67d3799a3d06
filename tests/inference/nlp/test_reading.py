"""Acts, STAR parts and outcomes as they are said, with and without punctuation, in both languages."""
# ruff: noqa: E501 - answers are quoted whole

from __future__ import annotations

import pytest

from inference.nlp.clauses import clauses_of
from inference.nlp.folding import fold
from inference.nlp.quantification import is_proof, quantities_in
from tests.inference.nlp.judging import judged, judged_zh, star_letters, value_of


def clause_texts(text: str) -> list[str]:
    return [clause.text for clause in clauses_of(fold(text))]


def test_speech_without_punctuation_still_falls_into_clauses() -> None:
    said = "i cached the catalogue and then i moved the queries as a result latency fell by half"
    assert clause_texts(said) == [
        "i cached the catalogue",
        "and then i moved the queries",
        "as a result latency fell by half",
    ]


def test_two_nouns_joined_by_and_stay_in_one_clause() -> None:
    assert clause_texts("I added a queue between the crawler and the indexer") == [
        "i added a queue between the crawler and the indexer"
    ]


def test_a_decimal_point_ends_no_sentence() -> None:
    assert clause_texts("errors fell from 2.1% to 0.4%") == ["errors fell from 2.1% to 0.4%"]


def test_chinese_without_punctuation_falls_apart_at_its_connectives() -> None:
    assert clause_texts("我先把需求砍到两种支付方式然后每天早上和工程师联调最后我们提前一天上线") == [
        "我先把需求砍到两种支付方式",
        "然后每天早上和工程师联调",
        "最后我们提前一天上线",
    ]


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("I cut our build time from forty minutes to six.", "AR"),
        ("Our builds were slow and I was asked to help. I split the tests.", "STA"),
        ("The build was slow.", "S"),
        ("I usually try to stay calm.", ""),
        ("I wrote a script. Now the report takes five minutes.", "AR"),
        ("I improved the query.", "A"),
    ],
)
def test_star_parts_in_english(said: str, parts: str) -> None:
    assert star_letters(judged(said)) == parts


@pytest.mark.parametrize(
    ("said", "parts"),
    [
        ("去年接口经常超时，我负责优化。我加了缓存，延迟降到十毫秒。", "STAR"),
        ("我们的接口很慢，我重写了查询。", "SA"),
        ("我标注了三千张图片，训练了一个小模型。", "A"),
        ("我觉得沟通很重要。", ""),
        ("团队让我负责上线。我写了发布脚本，最后提前两天上线。", "TAR"),
    ],
)
def test_star_parts_in_chinese(said: str, parts: str) -> None:
    assert star_letters(judged_zh(said)) == parts


def test_a_change_before_any_act_is_the_problem_and_not_the_result() -> None:
    assessment = judged("Sales dropped by 20 percent last year. I called every customer myself.")
    assert not assessment.star["result"].present
    assert assessment.quantified == ()


def test_a_plan_is_an_act_in_a_design_but_no_result() -> None:
    assessment = judged(
        "I would use a queue and it would cut the load by half.", "How would you design a mailer?"
    )
    assert star_letters(assessment) == "A"


@pytest.mark.parametrize(
    "text",
    [
        "latency fell by 40%",
        "it fell by forty percent",
        "from nine hours to forty minutes",
        "we saved $12,000",
        "tickets doubled",
        "百分之零点一",
        "降到一百二十毫秒",
        "提升了四倍",
        "迁移了两百万个账户",
        "扩到 12 个",
    ],
)
def test_a_measure_is_found_written_or_spelled_out(text: str) -> None:
    assert quantities_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "two years ago",
        "in 2019 i joined",
        "in twenty twenty one",
        "we use python 3",
        "redirect with 302",
        "base 62",
        "this is the one",
        "一个项目",
        "第一次",
        "十分重要",
        "三个月之后",
        "二零二一年",
    ],
)
def test_dates_versions_and_settings_measure_nothing(text: str) -> None:
    assert quantities_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "we had no outage",
        "it never happened again",
        "launched on time",
        "没有出现故障",
        "按时上线",
        "提前一天上线",
    ],
)
def test_an_outcome_can_be_checked_without_a_number(text: str) -> None:
    assert is_proof(text)


def test_we_alone_weighs_less_than_i() -> None:
    mine = judged(
        "Our app was slow. I cached the list and I moved the images. Load time fell from four seconds to one."
    )
    ours = judged(
        "Our app was slow. We cached the list and we moved the images. Load time fell from four seconds to one."
    )
    assert value_of(mine, "ownership") > 7 > value_of(ours, "ownership")
    assert (mine.score or 0) > (ours.score or 0)


def test_quotes_keep_the_speakers_own_characters() -> None:
    assessment = judged_zh("去年ＡＰＩ經常超時，我負責優化。我加了緩存，最後延遲降到１０毫秒。")
    assert assessment.quantified == ("最後延遲降到１０毫秒",)
