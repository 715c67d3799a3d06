"""Expected points: concrete ones are looked for in any words; the parts of a story are read by STAR, not by name."""
# ruff: noqa: E501 - answers are quoted whole

from __future__ import annotations

import pytest

from inference.assessment import Answer, Assessment, Language, QuestionKind, QuestionSpec
from inference.nlp.points import points_of
from inference.nlp.score import assess
from tests.inference.nlp.judging import Labelled, labelled, score_of

PARTS: dict[Language, tuple[str, ...]] = {
    "en": (
        "the situation",
        "what you did yourself",
        "what came of it, with a number",
        "the mistake as your own",
        "a reason of your own",
        "what each of you wanted",
    ),
    "zh": (
        "当时的情况",
        "你自己做了什么",
        "结果如何，最好有数字",
        "双方各自的想法",
        "怎样补救",
        "自己的理由",
    ),
}
GOOD = [
    pytest.param(row, id=row["id"])
    for name in ("answers", "own")
    for row in labelled(name)
    if row["band"] == "high"
]
LIMITER = "How would you design a rate limiter?"


def judged_with(question: str, text: str, points: tuple[str, ...], kind: QuestionKind | None) -> Assessment:
    language: Language = "en" if question.isascii() else "zh"
    return assess(Answer(QuestionSpec(question, language, kind, points), text))


@pytest.mark.parametrize("row", GOOD)
def test_a_good_story_or_motive_loses_nothing_to_points_that_name_its_parts(row: Labelled) -> None:
    kind = judged_with(row["question"], row["answer"], (), None).kind
    if kind not in ("behavioural", "motivational"):
        kind = "behavioural"
    plain = judged_with(row["question"], row["answer"], (), kind)
    pointed = judged_with(row["question"], row["answer"], PARTS[row["language"]], kind)
    assert pointed == plain


@pytest.mark.parametrize("row", GOOD)
def test_a_good_story_is_not_capped_by_a_concrete_point_it_leaves_out(row: Labelled) -> None:
    plain = judged_with(row["question"], row["answer"], (), "behavioural")
    pointed = judged_with(row["question"], row["answer"], ("zebra crossings", "斑马线"), "behavioural")
    assert pointed.score == plain.score


@pytest.mark.parametrize(
    ("text", "point", "covered"),
    [
        ("i traced one slow request", "measuring before changing (profil, trac)", True),
        ("i used a profiler", "measuring before changing (profil, trac)", True),
        ("i would restart it", "measuring before changing (profil, trac)", False),
        ("we added an index to the orders table", "database queries or an index", True),
        ("i distract people", "measuring before changing (profil, trac)", False),
        ("我先看监控", "先测量再修改（监控、火焰图）", True),
        ("我先测量耗时", "先测量再修改（监控、火焰图）", True),
        ("我加了缓存", "缓存及其代价", True),
        ("我加了索引", "数据库查询或索引", True),
        ("我重启了服务", "数据库查询或索引", False),
    ],
)
def test_a_point_is_found_in_its_own_or_other_words(text: str, point: str, covered: bool) -> None:
    points = points_of((point,), text, "explain")
    assert bool(points.covered) == covered


def test_the_other_words_of_a_point_are_not_shown() -> None:
    question = "A page has become slow. How do you find out why?"
    said = (
        "I would restart the server and buy a bigger machine because it usually helps when traffic is high."
    )
    assessment = judged_with(question, said, ("measuring before changing (profil, trac)",), "technical")
    assert "(measuring before changing)" in assessment.weakness
    assert "profil" not in assessment.weakness + assessment.follow_up


@pytest.mark.parametrize("point", ["token bucket", "what happens when Redis is down", "keys per customer."])
def test_a_missing_point_is_asked_for_in_a_whole_question(point: str) -> None:
    said = "I would count requests on the load balancer with a sliding window. It is exact, because each one has its own time. I would limit each network to ten a second. However, it costs memory."
    assessment = judged_with(LIMITER, said, (point, "zebra"), "technical")
    assert point.strip(".") in assessment.follow_up
    assert assessment.follow_up.startswith(("There is one more point", "Could you add a sentence"))


def test_technical_points_still_decide_how_relevant_an_answer_is() -> None:
    said = "I would keep a token bucket per key. I would share it in Redis. When Redis is down I fail open."
    with_it = judged_with(LIMITER, said, ("token bucket", "Redis down"), "technical")
    without = judged_with(LIMITER, said, ("leaky bucket of sand", "zebra crossings"), "technical")
    assert score_of(with_it) > score_of(without)
