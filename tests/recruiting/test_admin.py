"""The administration: operators see everything, recruiters who are staff read their organisations' rows."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from apps.accounts.admin import TenantAdmin
from apps.accounts.models import Organisation
from apps.assessment.models import Score
from apps.assessment.services import report_rebuild, score_record
from apps.interviews.models import Interview, Turn
from tests.assessment import rows
from tests.recruiting.people import client_of, recruiter

pytestmark = pytest.mark.django_db
OURS = {"accounts", "interviews", "assessment", "ops"}
OPERATORS_ONLY = {"accounts_user", "interviews_event", "interviews_ticket", "ops_job"}


def lists() -> list[str]:
    models = [model._meta for model in admin.site._registry if model._meta.app_label in OURS]
    return [f"{meta.app_label}_{meta.model_name}" for meta in models]


def filled(name: str) -> tuple[Organisation, Interview]:
    organisation = rows.organisation(name)
    interview = rows.interview(organisation)
    turn = rows.turn(interview, 1)
    rows.utterance(turn, rows.ANSWER)
    score_record(turn=turn, assessment=rows.assessed(), words=(), stage="live")
    report_rebuild(interview=interview)
    return organisation, interview


@pytest.fixture
def staff() -> Client:
    return client_of(recruiter(filled("Acme")[0], is_staff=True))


def test_operators_open_every_list() -> None:
    filled("Acme")
    operator = client_of(recruiter(None, is_staff=True, is_superuser=True))
    statuses = {name: operator.get(reverse(f"admin:{name}_changelist")).status_code for name in lists()}
    assert statuses == dict.fromkeys(lists(), 200)
    assert len(statuses) >= 13


def test_a_template_s_form_lets_the_candidate_choose_the_language() -> None:
    _, interview = filled("Acme")
    operator = client_of(recruiter(None, is_staff=True, is_superuser=True))
    address = reverse("admin:interviews_template_change", args=[interview.template_id])
    assert 'type="checkbox" name="detect_language"' in operator.get(address).content.decode()


def test_recruiters_who_are_staff_read_their_own_rows_and_no_others(staff: Client) -> None:
    filled("Other")
    for model, model_admin in admin.site._registry.items():
        if not isinstance(model_admin, TenantAdmin) or model_admin.organisation_path is None:
            continue
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        for row in model._default_manager.all():
            path = "pk" if model_admin.organisation_path == "pk" else f"{model_admin.organisation_path}__pk"
            owner = Organisation.objects.get(
                pk=model._default_manager.filter(pk=row.pk).values_list(path, flat=True).get()
            )
            status = staff.get(reverse(f"admin:{name}_change", args=[row.pk])).status_code
            # Django answers a change page of a row that is not there with a redirect to the index.
            assert status == (200 if owner.name == "Acme" else 302), (name, owner.name)


def test_what_opens_everything_is_for_operators_only(staff: Client) -> None:
    statuses = {name: staff.get(reverse(f"admin:{name}_changelist")).status_code for name in lists()}
    assert {name for name, status in statuses.items() if status == 403} == OPERATORS_ONLY
    assert {status for name, status in statuses.items() if name not in OPERATORS_ONLY} == {200}


def test_recruiters_change_nothing_in_the_administration(staff: Client) -> None:
    template = Interview.objects.get().template
    url = reverse("admin:interviews_template_change", args=[template.pk])
    assert staff.post(url, {"title": "Mine now"}).status_code == 403
    assert staff.get(reverse("admin:interviews_template_add")).status_code == 403
    url = reverse("admin:interviews_template_delete", args=[template.pk])
    assert staff.post(url, {"post": "yes"}).status_code == 403


def test_nobody_edits_a_score_or_an_answer_by_hand() -> None:
    filled("Acme")
    operator = client_of(recruiter(None, is_staff=True, is_superuser=True))
    for model in (Score, Turn, Interview):
        url = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        page = operator.get(reverse(url, args=[model._default_manager.get().pk])).content.decode()
        assert 'name="_save"' not in page


def test_the_keys_of_candidates_are_not_shown() -> None:
    _, interview = filled("Acme")
    operator = client_of(recruiter(None, is_staff=True, is_superuser=True))
    page = operator.get(reverse("admin:interviews_candidate_change", args=[interview.candidate.pk]))
    assert interview.candidate.session_token not in page.content.decode()


@pytest.mark.parametrize(
    ("name", "lookup"),
    [
        ("interviews_candidate", "session_token__regex"),
        ("interviews_candidate", "session_token"),
        ("interviews_interview", "candidate__session_token__startswith"),
        ("interviews_interview", "organisation__memberships__user__password__startswith"),
        ("interviews_interview", "status__regex"),
        ("interviews_turn", "transcript__icontains"),
        ("accounts_membership", "user__password__startswith"),
        ("accounts_organisation", "memberships__user__email"),
        ("assessment_score", "turn__interview__candidate__session_token__gte"),
    ],
)
def test_an_address_cannot_ask_about_what_the_list_does_not_show(
    staff: Client, name: str, lookup: str
) -> None:
    answer = staff.get(reverse(f"admin:{name}_changelist"), {lookup: "x"})
    assert (answer.status_code, answer["Location"]) == (302, reverse(f"admin:{name}_changelist"))
    assert "cannot be filtered that way" in staff.get(answer["Location"]).content.decode()


def test_operators_cannot_either_and_see_no_traceback(settings: Settings) -> None:
    settings.DEBUG = True
    operator = client_of(recruiter(None, is_staff=True, is_superuser=True))
    for name, lookup in (("accounts_user", "password__startswith"), ("ops_job", "reason__regex")):
        url = reverse(f"admin:{name}_changelist")
        assert operator.get(url, {lookup: "x"})["Location"] == url
    assert (
        operator.get(reverse("admin:accounts_user_changelist"), {"_to_field": "password"}).status_code == 302
    )


def test_what_the_list_offers_filters_it(staff: Client) -> None:
    offered = {
        "interviews_interview": (
            "status__exact=finished",
            "created_at__year=2020",
            "created_at__gte=2020-01-01T00:00Z",
        ),
        "interviews_turn": ("low_confidence__exact=0", "kind__exact=main"),
        "accounts_membership": ("role__exact=owner",),
    }
    for name, filters in offered.items():
        for one in filters:
            assert staff.get(f"{reverse(f'admin:{name}_changelist')}?{one}").status_code == 200, one


def test_models_and_sections_have_chinese_names(staff: Client) -> None:
    page = staff.get("/admin/", headers={"Accept-Language": "zh-CN"}).content.decode()
    for name in ("面试模板", "成员", "话语片段", "评估", "账号"):
        assert name in page
    assert not [name for name in ("Memberships", "Turns", "Utterances", "Assessment") if f">{name}<" in page]


def test_the_administration_signs_in_where_everybody_does() -> None:
    response = Client().get("/admin/", follow=True)
    assert "/accounts/login/" in response.redirect_chain[-1][0]


def test_recruiters_who_are_not_staff_stay_out() -> None:
    client = client_of(recruiter(rows.organisation("Acme")))
    assert client.get("/admin/").status_code in {302, 403}
