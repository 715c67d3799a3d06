"""What must hold for any text whatever: no crash, exact quotes, scores in range and under their caps, in time."""
# ruff: noqa: E501 - answers are quoted whole

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference.assessment import DIMENSIONS, STAR_NAMES, Answer, Assessment, Language, QuestionSpec, grade_for
from inference.nlp import phrases_en, phrases_zh
from inference.nlp.caps import LIMITS
from inference.nlp.score import assess, warm_up
from tests.inference.nlp.judging import STORY, STORY_ZH, labelled

QUESTIONS: tuple[tuple[str, Language], ...] = (
    (STORY, "en"),
    (STORY_ZH, "zh"),
    ("How would you design a rate limiter?", "en"),
    ("Why do you want to work here?", "en"),
    ("你带过团队吗？", "zh"),
    ("How do you handle conflict in a team?", "en"),
    ("", "en"),
)
PIECES = [row["answer"] for name in ("answers", "own") for row in labelled(name)]
WORDS = sorted({word for piece in PIECES for word in piece.split()})

texts = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=4).map(" ".join),
    st.text(alphabet="我们了的，。 i we did 40% \u200b\ufdfa１２从到降", max_size=200),
)


def quotes_of(assessment: Assessment) -> list[str]:
    parts = [assessment.star[name].quote for name in STAR_NAMES]
    dimension_quotes = [quote for dimension in assessment.dimensions for quote in dimension.quotes]
    return [quote for quote in (*parts, *assessment.quantified, *dimension_quotes) if quote is not None]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts, asked=st.sampled_from(QUESTIONS))
def test_any_text_is_judged_within_the_rules(text: str, asked: tuple[str, Language]) -> None:
    question, language = asked
    answer = Answer(QuestionSpec(question, language), text)
    assessment = assess(answer)
    assert assessment == assess(answer)
    assert all(quote and quote in text for quote in quotes_of(assessment))
    assert 0.0 <= assessment.relevance <= 1.0
    assert assessment.weakness
    assert assessment.follow_up
    assert set(assessment.star) == set(STAR_NAMES)
    assert all(
        (assessment.star[name].quote is not None) == assessment.star[name].present for name in STAR_NAMES
    )
    if assessment.score is None:
        assert not any(char.isalnum() for char in text)
        assert assessment.grade is None
        return
    assert 0.0 <= assessment.score <= 10.0
    assert round(assessment.score, 1) == assessment.score
    assert assessment.grade == grade_for(assessment.score)
    assert all(assessment.score <= LIMITS[cap] for cap in assessment.caps)  # type: ignore[index]
    assert tuple(d.dimension for d in assessment.dimensions) == DIMENSIONS
    assert sum(d.weight for d in assessment.dimensions) == pytest.approx(1.0)
    for dimension in assessment.dimensions:
        assert 0.0 <= dimension.value <= 10.0
        assert round(dimension.value, 1) == dimension.value
        assert dimension.comment
        assert dimension.quotes or dimension.value <= 3.5


BANDS_OF_COMMENTS = {
    text: key.rsplit(".", 1)[-1] if "." in key else "low"
    for book in (phrases_en, phrases_zh)
    for key, text in book.COMMENT.items()
    if key != "unweighed" and "{" not in text
}


def assert_comments_fit(assessment: Assessment) -> None:
    for dimension in assessment.dimensions:
        band = "low" if dimension.value <= 3.5 else "high" if dimension.value >= 7 else "mid"
        if dimension.weight > 0 and dimension.comment in BANDS_OF_COMMENTS:
            assert BANDS_OF_COMMENTS[dimension.comment] == band, (dimension.dimension, dimension.value)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=texts, asked=st.sampled_from(QUESTIONS), follow_up=st.booleans())
def test_a_comment_fits_the_band_of_its_value(
    text: str, asked: tuple[str, Language], follow_up: bool
) -> None:
    question, language = asked
    assert_comments_fit(
        assess(Answer(QuestionSpec(question, language, follow_up_to=STORY * follow_up), text))
    )


@pytest.mark.parametrize("name", ["answers", "own"])
def test_the_comments_on_every_labelled_answer_fit_their_values(name: str) -> None:
    for row in labelled(name):
        assert_comments_fit(assess(Answer(QuestionSpec(row["question"], row["language"]), row["answer"])))


def test_a_clear_answer_to_another_question_is_not_told_that_there_is_too_little_of_it() -> None:
    said = "Last summer my sister and I went to the beach and ate pizza every evening."
    clarity = assess(Answer(QuestionSpec("How would you design a rate limiter?", "en"), said)).dimensions[-1]
    assert clarity.value >= 7
    assert clarity.comment == "Plain and in order."


@pytest.mark.parametrize("text", ["", "   ", "\n", "…", "\u200b", "。。。", "👍"])
def test_nothing_said_has_no_score_and_no_grade(text: str) -> None:
    assessment = assess(Answer(QuestionSpec(STORY, "en"), text))
    assert assessment.score is None
    assert assessment.grade is None
    assert assessment.dimensions == ()


HOSTILE = {
    "adverbs": "i " + "slowly " * 2800,
    "chinese prepositions": "我" + "和" * 19_999,
    "chinese subjects": "我和" * 10_000,
    "spelled numbers": "one hundred and " * 1300,
    "digits": "1," * 10_000,
    "unfolding": "\ufdfa" * 20_000,
    "invisible": "\u200b" * 19_990 + "hi there",
    "orders": "ignore the give me the candidate is " * 550,
    "chinese orders": "请给我" * 6600,
    "markup": "<answer " * 2500,
    "json": '{"score":' * 2200,
    "one word": "a" * 20_000,
    "blanks": " " * 19_999 + "x",
    "conditions": "if the a b c " * 1500,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_twenty_thousand_hostile_characters_are_judged_in_time(name: str) -> None:
    warm_up()
    started_s = time.process_time()
    assessment = assess(Answer(QuestionSpec(STORY, "en"), HOSTILE[name]))
    # Generous against a busy machine; a pattern that backtracks without end takes minutes.
    assert time.process_time() - started_s < 3.0
    assert assessment.score is None or assessment.score <= 3.5


ODD: dict[str, tuple[str, str]] = {
    "chinese numerals": (STORY_ZH, "一二三四五六七八九十" * 1_200),
    "chinese numerals in english": (STORY, "一二三四五六七八九十" * 1_200),
    "digits and commas": (STORY, "1," * 6_000),
    "digits and stops": (STORY, "1." * 6_000),
    "one letter words": (STORY, "a " * 6_000),
    "emoji": (STORY, "👍a" * 6_000),
    "subjects": (STORY_ZH, "我和" * 6_000),
    "mixed prepositions": (STORY_ZH, "我和跟用在向" * 2_000),
    "short clauses": (STORY_ZH, "一，" * 6_000),
    "orders": (STORY_ZH, "请给我" * 4_000),
    "spelled numbers": (STORY, "one hundred and " * 750),
}


def best_s(question: str, text: str) -> float:
    """The quickest of seven: the engine's own time; the rest is whoever else uses the machine."""
    answer = Answer(QuestionSpec(question, "en" if question.isascii() else "zh"), text)
    spent_s = []
    for _ in range(7):
        started_s = time.process_time()
        assess(answer)
        spent_s.append(time.process_time() - started_s)
    return min(spent_s)


@pytest.mark.parametrize("name", ODD)
def test_eight_times_the_characters_do_not_take_sixty_four_times_as_long(name: str) -> None:
    warm_up()
    question, text = ODD[name]
    # 8 where time grows with the length, 64 where it grows with its square; no clock of its own to miss.
    assert best_s(question, text[:4_000]) < 32 * best_s(question, text[:500])


@pytest.mark.parametrize("text", ["a " * 2_500, "一二三四" * 1_500])
def test_an_answer_of_too_many_words_is_read_in_part_and_a_note_says_how_far(text: str) -> None:
    notes = assess(Answer(QuestionSpec(STORY, "en"), text)).notes
    assert notes == ("only the first 4000 characters were read",)


def test_what_lies_beyond_the_limit_is_not_read_and_a_note_says_so() -> None:
    assessment = assess(Answer(QuestionSpec(STORY, "en"), "I rewrote the parser. " * 500))
    assert any("characters were read" in note for note in assessment.notes)
