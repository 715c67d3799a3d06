"""The rules against answers that people labelled: bands, order, STAR parts, numbers, fillers, flags."""
# ruff: noqa: E501 - answers are quoted whole

from __future__ import annotations

import pytest

from inference.assessment import Answer, QuestionSpec
from inference.nlp.score import assess
from tests.inference.nlp.judging import Labelled, in_band, judged_label, labelled, score_of, star_letters

SETS = ("answers", "own")
ROWS = [pytest.param(name, row, id=row["id"]) for name in SETS for row in labelled(name)]
SHARED = [pytest.param(row, id=row["id"]) for row in labelled("answers")]


@pytest.mark.parametrize("row", SHARED)
def test_a_shared_answer_scores_in_the_band_that_people_gave_it(row: Labelled) -> None:
    assert in_band(score_of(judged_label("answers")[row["id"]]), row["band"])


def test_nine_of_ten_further_answers_score_in_their_band() -> None:
    scores = judged_label("own")
    hits = [in_band(score_of(scores[row["id"]]), row["band"]) for row in labelled("own")]
    assert sum(hits) / len(hits) >= 0.9


def test_no_answer_is_two_bands_away_from_its_label() -> None:
    far = [
        row["id"]
        for name in SETS
        for row in labelled(name)
        if (row["band"] == "low" and score_of(judged_label(name)[row["id"]]) > 5.0)
        or (row["band"] == "high" and score_of(judged_label(name)[row["id"]]) < 6.0)
    ]
    assert far == []


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_better_answer_beats_the_worse_one(name: str, row: Labelled) -> None:
    scores = judged_label(name)
    for loser in row["beats"]:
        assert score_of(scores[row["id"]]) > score_of(scores[loser])


@pytest.mark.parametrize("row", SHARED)
def test_the_star_parts_of_a_shared_answer_are_those_that_people_found(row: Labelled) -> None:
    assert star_letters(judged_label("answers")[row["id"]]) == row["star"]


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_fillers_are_counted_as_people_counted_them(name: str, row: Labelled) -> None:
    if row["fillers"] is not None:
        assert judged_label(name)[row["id"]].delivery.fillers == pytest.approx(row["fillers"], abs=1)


@pytest.mark.parametrize("row", SHARED)
def test_outcomes_are_quantified_where_people_found_numbers(row: Labelled) -> None:
    assert bool(judged_label("answers")[row["id"]].quantified) == (row["numbers"] > 0)


@pytest.mark.parametrize("row", SHARED)
def test_relevance_tells_on_topic_from_off_topic(row: Labelled) -> None:
    assert (judged_label("answers")[row["id"]].relevance >= 0.5) == row["relevant"]


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_expected_flags_are_raised_and_good_answers_raise_none(name: str, row: Labelled) -> None:
    flags = set(judged_label(name)[row["id"]].flags)
    assert set(row.get("flags", [])) <= flags
    if row["band"] == "high":
        assert flags == set(row.get("flags", []))


def test_an_order_inside_a_real_answer_gains_nothing() -> None:
    scores = judged_label("answers")
    assert score_of(scores["en_injection_mixed"]) <= score_of(scores["en_no_result"]) + 0.3


def test_blame_scores_well_below_the_same_story_with_an_own_part() -> None:
    scores = judged_label("answers")
    assert score_of(scores["en_conflict_full"]) - score_of(scores["en_conflict_blame"]) >= 2


SPOKEN = {
    "star": (
        "Tell me about a time you solved a hard technical problem.",
        "In my last job I led a team of five engineers. Our checkout service was timing out on sale days, and I was "
        "responsible for fixing it. First I profiled the hot path, then I cached the product catalogue and moved the "
        "slow queries to a replica. As a result, latency fell by forty percent in three months, and we had no outage "
        "on the next sale day.",
        (7.0, 10.0),
    ),
    "leave": (
        "Why do you want to leave your current job?",
        "I have learned a lot in my current role, and I am proud of what we built, but I would like to work on a "
        "product that more people use every day.",
        (3.5, 7.0),
    ),
    "no": ("Have you managed people before?", "No, I have not.", (3.5, 6.0)),
    "failure": (
        "What was your biggest failure?",
        "My biggest failure was a migration that I did not test. We lost two hours of orders, and I wrote a checklist "
        "so that it never happened again.",
        (5.0, 9.0),
    ),
    "career": (
        "Walk me through your career so far.",
        "I started as a support engineer at a small hosting company, where I answered about thirty tickets a day. "
        "After two years I moved to the operations team, because I had written scripts that closed half of the "
        "tickets by themselves. I replaced the nightly full backup with incremental ones, and the window went from "
        "nine hours to forty minutes. Today I lead a group of four.",
        (6.0, 10.0),
    ),
    "habit": (
        "How do you handle conflict in a team?",
        "I listen to both sides first, then I write down what we agree on, and then we test the smaller change together.",
        (4.5, 7.0),
    ),
    "tools": (
        "Which technologies did you use in your last project?",
        "We ran Kubernetes with Kafka and PostgreSQL. The workers used Celery and Redis, and the services spoke gRPC.",
        (5.0, 10.0),
    ),
}


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("punctuated", [True, False], ids=["punctuated", "bare"])
def test_a_spoken_answer_scores_alike_with_and_without_punctuation(name: str, punctuated: bool) -> None:
    question, text, (low, high) = SPOKEN[name]
    heard = text if punctuated else text.lower().replace(",", "").replace(".", "")
    score = score_of(assess(Answer(QuestionSpec(question, "en"), heard)))
    assert low <= score <= high


def test_the_spoken_star_answer_shows_its_number_and_its_proof() -> None:
    question, text, _ = SPOKEN["star"]
    quoted = " | ".join(assess(Answer(QuestionSpec(question, "en"), text)).quantified)
    assert "forty percent" in quoted
    assert "no outage" in quoted
    assert "five engineers" not in quoted
