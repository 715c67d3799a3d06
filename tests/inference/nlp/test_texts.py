"""What the speaker reads: the right language, one sentence, about this answer, and a question that fits."""

from __future__ import annotations

import re

import pytest

from inference.assessment import DIMENSIONS
from inference.nlp import phrases_en, phrases_zh
from inference.nlp.caps import LIMITS
from inference.nlp.language import han_count
from inference.nlp.stream import pieces
from inference.nlp.summary import answer_summary
from inference.ports import AssessmentDone, DetailPiece, DimensionPiece, ScorePiece, WeaknessPiece
from tests.inference.nlp.judging import judged, judged_label, judged_zh, labelled

SETS = ("answers", "own")
ROWS = [
    pytest.param(name, row["id"], row["language"], id=row["id"]) for name in SETS for row in labelled(name)
]
BOOKS = [pytest.param(phrases_en, id="en"), pytest.param(phrases_zh, id="zh")]


@pytest.mark.parametrize(("name", "row_id", "language"), ROWS)
def test_texts_are_in_the_language_of_the_question(name: str, row_id: str, language: str) -> None:
    assessment = judged_label(name)[row_id]
    if "wrong_language" in assessment.flags:
        return  # said in both
    texts = [assessment.weakness, assessment.follow_up, *(d.comment for d in assessment.dimensions)]
    for text in texts:
        unquoted = re.sub(r"“[^”]*”", "", text)
        assert (han_count(unquoted) > 0) == (language == "zh")


@pytest.mark.parametrize(("name", "row_id", "language"), ROWS)
def test_the_weakness_is_one_sentence_and_the_follow_up_one_question(
    name: str, row_id: str, language: str
) -> None:
    assessment = judged_label(name)[row_id]
    weakness = re.sub(r"“[^”]*”", "", assessment.weakness)
    if "wrong_language" in assessment.flags:
        return  # said in both
    assert len(re.findall(r"[.。!！?？](?:\s|$)", weakness + " ")) == 1
    assert weakness[-1] in ".。"
    assert assessment.follow_up[-1] in "?？"
    assert "{" not in assessment.weakness + assessment.follow_up
    assert len(assessment.weakness) <= 320


@pytest.mark.parametrize("book", BOOKS)
def test_every_issue_has_a_weakness_and_a_question(book: object) -> None:
    weakness, follow_up = book.WEAKNESS, book.FOLLOW_UP  # type: ignore[attr-defined]
    assert set(weakness) == set(follow_up)
    assert set(LIMITS) <= set(weakness)
    assert all(plain and "{quote}" not in plain for _, plain in weakness.values())
    assert all(any("{quote}" not in option for option in options) for options in follow_up.values())


def test_both_languages_name_the_same_issues_and_comments() -> None:
    assert set(phrases_en.WEAKNESS) == set(phrases_zh.WEAKNESS)
    assert set(phrases_en.COMMENT) == set(phrases_zh.COMMENT)


@pytest.mark.parametrize("book", BOOKS)
def test_no_text_judges_the_person(book: object) -> None:
    texts = str(vars(book)["WEAKNESS"]) + str(vars(book)["COMMENT"]) + str(vars(book)["FOLLOW_UP"])
    assert not re.search(
        r"\b(?:bad|poor|stupid|lazy|fail(?:ed|ure)? to|you are not)\b|您|很差|不行|不合格", texts
    )


def test_a_missing_result_is_named_and_asked_for() -> None:
    assessment = judged("Our search was slow. I rewrote the indexing job.")
    assert "you didn't mention a result yet" in assessment.weakness
    assert "I rewrote the indexing job" in assessment.weakness
    assert "how far the waiting time fell" in assessment.weakness
    assert re.search(r"came of it|changed|How did it end", assessment.follow_up)


def test_a_missing_result_is_named_in_chinese() -> None:
    assessment = judged_zh("我们的搜索服务很慢，我重写了索引任务。")
    assert "还没有提到结果" in assessment.weakness
    assert "我重写了索引任务" in assessment.weakness


def test_follow_ups_to_the_same_weakness_are_worded_differently() -> None:
    jobs = (
        "the parser",
        "the search index",
        "our billing job",
        "the mail queue",
        "the login page",
        "the report",
    )
    asked = {judged(f"Our app was slow. I rewrote {job}.").follow_up.replace(job, "it") for job in jobs}
    assert len(asked) > 1


def test_an_answer_in_the_other_language_is_told_so_in_both_languages_the_interviews_first() -> None:
    chinese = judged("去年我负责优化搜索，我重写了索引，延迟降了一半。")
    english = judged_zh("Last year I rewrote the search index and the wait fell by half for everyone.")
    assert chinese.flags == english.flags == ("wrong_language",)
    assert chinese.weakness.startswith("This interview is in English")
    assert chinese.weakness.endswith("请用英文再说一遍，这样才能公平地评价。")
    assert chinese.follow_up.startswith(
        "Could you give me the same answer in English, please? 可以请你用英文"
    )
    assert english.weakness.startswith("这场面试用的是中文")
    assert english.weakness.endswith("please answer again in Chinese, so that it can be read fairly.")
    assert english.follow_up.endswith("吗？ Could you give me the same answer in Chinese, please?")


@pytest.mark.parametrize(
    "said",
    [
        "Я переписал поиск и он стал быстрее в два раза.",
        "El año pasado yo cambié la búsqueda y los clientes están muy contentos con el resultado.",
    ],
)
def test_an_answer_in_a_third_language_is_told_so_in_the_interviews_language(said: str) -> None:
    assessment = judged(said)
    assert "wrong_language" in assessment.flags
    assert han_count(assessment.weakness + assessment.follow_up) == 0


def test_markup_is_never_read_back() -> None:
    assessment = judged("Our app was slow. I rewrote <b>it</b> {quote} and http://x.example/ all.")
    assert "<" not in assessment.weakness + assessment.follow_up
    assert "http" not in assessment.weakness + assessment.follow_up


def test_a_missing_expected_point_is_named() -> None:
    assessment = judged_label("answers")["en_ratelimit_good"]
    assert assessment.weakest is not None
    assert "design" not in assessment.weakness or "not yet a design" not in assessment.weakness


@pytest.mark.parametrize("row_id", ["en_star_full", "zh_star_full", "en_fine"])
def test_the_stream_tells_the_same_as_the_assessment_in_the_agreed_order(row_id: str) -> None:
    assessment = judged_label("answers")[row_id]
    told = list(pieces(assessment))
    kinds = [type(piece) for piece in told]
    first_dimension = kinds.index(DimensionPiece)
    assert kinds[0] is ScorePiece
    assert set(kinds[1:first_dimension]) == {WeaknessPiece}
    assert first_dimension > 2
    assert told[-1] == AssessmentDone(assessment)
    assert "".join(p.text for p in told if isinstance(p, WeaknessPiece)) == assessment.weakness
    for dimension in assessment.dimensions:
        words = [p.text for p in told if isinstance(p, DetailPiece) and p.dimension == dimension.dimension]
        assert "".join(words) == dimension.comment
        assert len(words) > 1


def test_what_does_not_count_is_kept_but_not_told() -> None:
    assessment = judged_label("answers")["en_ratelimit_good"]
    told = [p.score.dimension for p in pieces(assessment) if isinstance(p, DimensionPiece)]
    commented = {p.dimension for p in pieces(assessment) if isinstance(p, DetailPiece)}
    assert told == ["relevance", "structure", "evidence", "clarity"]
    assert commented == set(told)
    assert [d.dimension for d in assessment.dimensions] == list(DIMENSIONS)
    assert list(pieces(assessment))[-1] == AssessmentDone(assessment)


def test_the_stream_of_no_answer_has_no_score() -> None:
    told = list(pieces(judged("")))
    assert not any(isinstance(piece, ScorePiece) for piece in told)
    assert isinstance(told[-1], AssessmentDone)


def test_the_summary_has_the_keys_that_scripts_rely_on() -> None:
    summary = answer_summary(judged_label("answers")["en_star_full"])
    assert list(summary) == [
        "score", "grade", "weakness", "star", "quantified", "relevance", "fillers", "flags", "source",
    ]  # fmt: skip
    assert summary["grade"] == "A"
    assert summary["source"] == "rules"
    assert set(summary["star"]) == {"situation", "task", "action", "result"}  # type: ignore[call-overload]
    assert answer_summary(judged(""))["score"] is None
