"""The demo that a first start makes."""
# ruff: noqa: E501 - answers are quoted whole

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth import authenticate
from pytest_django.fixtures import Settings

from apps.accounts.models import Membership, Organisation, User
from apps.interviews.models import Candidate, Template
from apps.interviews.selectors import planned_question, question_spec
from apps.interviews.services.demo import RECRUITER, demo_create
from inference.assessment import Answer, Language, QuestionSpec
from inference.nlp.folding import fold
from inference.nlp.points import points_of
from inference.nlp.score import assess
from tests.inference.nlp.judging import Labelled, labelled

pytestmark = pytest.mark.django_db


def test_the_first_call_makes_what_a_newcomer_needs(settings: Settings) -> None:
    settings.DEBUG = True
    demo = demo_create()
    assert authenticate(username=RECRUITER, password=demo.password)
    assert Membership.objects.get().role == Membership.Role.RECRUITER
    assert Candidate.objects.count() == 1


def test_a_second_call_changes_nothing_and_knows_no_password(settings: Settings) -> None:
    settings.DEBUG = True
    demo_create()
    again = demo_create()
    assert (again.created, again.password) == (False, "")
    assert Organisation.objects.count() == 1
    assert Template.objects.count() == 2


def test_production_gets_no_account_with_a_known_name(settings: Settings) -> None:
    settings.DEBUG = False
    assert demo_create().password == ""
    assert not User.objects.exists()


def test_a_site_that_is_somebodys_is_left_alone() -> None:
    Organisation.objects.create(name="Somebody", slug="somebody")
    assert not demo_create().created
    assert not Template.objects.exists()


@pytest.mark.parametrize(
    ("slug", "first"),
    [
        ("practice-en", "Tell me about a time you solved a hard technical problem."),
        ("practice-zh", "请讲一个你解决过的最难的技术问题。"),
    ],
)
def test_each_practice_interview_has_five_questions_of_several_kinds(slug: str, first: str) -> None:
    demo_create()
    questions = list(Template.objects.get(slug=slug, practice=True).questions.all())
    assert questions[0].text == first
    assert [question.position for question in questions] == [1, 2, 3, 4, 5]
    assert {question.kind for question in questions} == {"behavioural", "technical", "motivational"}
    assert [bool(question.expected_points) for question in questions] == [
        question.kind == "technical" for question in questions
    ]
    assert any(question.terms for question in questions)


GOOD = [
    pytest.param(row, id=row["id"])
    for name in ("answers", "own")
    for row in labelled(name)
    if row["band"] == "high"
]


@pytest.mark.parametrize("row", GOOD)
def test_a_good_answer_to_a_practice_question_scores_as_it_would_without_points(row: Labelled) -> None:
    demo_create()
    bare = assess(Answer(QuestionSpec(row["question"], row["language"]), row["answer"]))
    slug = f"practice-{row['language']}"
    for question in (
        Template.objects.get(slug=slug).questions.filter(kind=bare.kind).exclude(kind="technical")
    ):
        planned = planned_question(question)
        spec = question_spec(planned, text=planned.text, follow_up=False, language=row["language"])
        asked = assess(Answer(spec, row["answer"]))
        assert asked == assess(Answer(replace(spec, expected_points=()), row["answer"]))


@pytest.mark.parametrize(
    ("slug", "said", "least"),
    [
        (
            "practice-en",
            "First I would look at the p95 in our dashboard and trace one slow request. Usually it is a query: I run EXPLAIN, "
            "find the missing index and fix the N+1. If the rows rarely change I keep them in Redis for a minute, so users may "
            "see stale prices. Then I compare the p95 before and after.",
            8.0,
        ),
        (
            "practice-zh",
            "我会先看监控和链路追踪，确定是前端还是后端慢。如果是接口慢，就看慢查询日志，用 explain 检查有没有走索引。"
            "热点数据放到 Redis 里，但要考虑失效时的一致性。改完以后做压测，确认 p95 真的降下来。",
            8.0,
        ),
    ],
)
def test_the_points_of_the_technical_question_are_found_in_an_engineers_words(
    slug: str, said: str, least: float
) -> None:
    demo_create()
    planned = planned_question(Template.objects.get(slug=slug).questions.get(kind="technical"))
    language: Language = "en" if slug.endswith("en") else "zh"
    spec = question_spec(planned, text=planned.text, follow_up=False, language=language)
    assert points_of(spec.expected_points, fold(said).text, "explain").missing == ()
    assert (assess(Answer(spec, said)).score or 0) >= least
