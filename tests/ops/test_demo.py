"""The demo that a first start makes."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from pytest_django.fixtures import Settings

from apps.accounts.models import Membership, Organisation, User
from apps.interviews.models import Candidate, Template
from apps.interviews.services.demo import RECRUITER, demo_create

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
    assert all(question.expected_points for question in questions)
    assert any(question.terms for question in questions)
