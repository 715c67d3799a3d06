"""Who may open what: every address of the recruiters' pages against everybody who might try."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from apps.accounts.models import Organisation
from apps.interviews.models import Interview
from apps.ops.models import Job
from apps.recruiting.urls import urlpatterns
from tests.assessment import rows
from tests.recruiting.people import PASSWORD, client_of, recruiter

pytestmark = pytest.mark.django_db

# One entry per address that names an object: how it is called.
OBJECT_VIEWS = {
    "interview": "get",
    "audio": "get",
    "analysis": "get",
    "analysis_retry": "post",
    "correction_retry": "post",
}
OF_AN_ANSWER = {"audio", "correction_retry"}
LIST_VIEWS = {"interviews"}


@pytest.fixture(autouse=True)
def media(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "MEDIA_ROOT", tmp_path)
    return tmp_path


@pytest.fixture
def acme() -> Organisation:
    return rows.organisation("Acme")


@pytest.fixture
def interview(acme: Organisation, media: Path) -> Interview:
    interview = rows.interview(acme)
    rows.turn(interview, 1, audio_path="a.wav")
    (media / "a.wav").write_bytes(b"RIFF" + bytes(996))
    Job.objects.create(
        organisation_id=acme.pk, kind="analyse_interview", subject_id=interview.pk, status="dead"
    )
    return interview


def call(client: Client, name: str, interview: Interview) -> int:
    kwargs: dict[str, object] = {"public_id": interview.public_id} | (
        {"number": 1} if name in OF_AN_ANSWER else {}
    )
    response = getattr(client, OBJECT_VIEWS[name])(reverse(f"recruiting:{name}", kwargs=kwargs))
    if response.streaming:
        b"".join(response.streaming_content)
    return int(response.status_code)


def test_every_address_is_in_the_matrix() -> None:
    assert {pattern.name for pattern in urlpatterns} == set(OBJECT_VIEWS) | LIST_VIEWS


@pytest.mark.parametrize("name", OBJECT_VIEWS)
def test_colleagues_and_operators_may_open_it(name: str, acme: Organisation, interview: Interview) -> None:
    for user in (recruiter(acme), recruiter(None, is_superuser=True)):
        assert call(client_of(user), name, interview) == (302 if name.endswith("_retry") else 200)
        Job.objects.update(status="dead")


@pytest.mark.parametrize("name", OBJECT_VIEWS)
def test_for_everybody_else_it_does_not_exist(name: str, interview: Interview) -> None:
    elsewhere = recruiter(rows.organisation("Other"), is_staff=True)
    for user in (elsewhere, recruiter(None)):
        assert call(client_of(user), name, interview) == 404
    assert Job.objects.get().status == "dead"


@pytest.mark.parametrize("name", OBJECT_VIEWS)
def test_strangers_are_asked_to_sign_in(name: str, interview: Interview) -> None:
    assert call(Client(), name, interview) == 302
    assert Job.objects.get().status == "dead"


def test_a_former_colleague_sees_nothing_any_more(acme: Organisation, interview: Interview) -> None:
    user = recruiter(acme)
    client = client_of(user)
    assert call(client, "interview", interview) == 200
    user.memberships.all().delete()
    assert call(client, "interview", interview) == 404


def test_the_list_holds_only_interviews_of_ones_own_organisations(
    acme: Organisation, interview: Interview
) -> None:
    other = rows.interview(rows.organisation("Other"))
    page = client_of(recruiter(acme)).get(reverse("recruiting:interviews")).content.decode()
    assert str(interview.public_id) in page
    assert str(other.public_id) not in page


def test_searching_by_number_does_not_reach_into_other_organisations(acme: Organisation) -> None:
    other = rows.interview(rows.organisation("Other"))
    page = client_of(recruiter(acme)).get(reverse("recruiting:interviews"), {"q": str(other.public_id)})
    assert reverse("recruiting:interview", args=[other.public_id]) not in page.content.decode()


def test_signing_in_with_e_mail_and_password_leads_to_the_list(acme: Organisation) -> None:
    user = recruiter(acme, PASSWORD)
    client = Client()
    response = client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    assert (response.status_code, response["Location"]) == (302, "/recruiting/")
    assert client.get("/recruiting/").status_code == 200


def test_guessing_a_password_is_stopped(acme: Organisation) -> None:
    user = recruiter(acme, PASSWORD)
    client = Client(REMOTE_ADDR="192.0.2.77")
    wrong = {"login": user.email, "password": "not the password"}
    for _ in range(12):
        client.post(reverse("account_login"), wrong)
    right = client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    assert right.status_code != 302
    assert client.get("/recruiting/").status_code == 302


@pytest.mark.parametrize(
    "address",
    ["password/reset/", "password/reset/done/", "password/reset/key/1-x/", "email/", "confirm-email/x/"],
)
def test_nothing_can_send_a_link_that_opens_an_account(address: str, mailoutbox: list[object]) -> None:
    client = Client()
    assert client.get(f"/accounts/{address}").status_code == 404
    assert client.post(f"/accounts/{address}", {"email": "me@example.org"}).status_code == 404
    assert "changepassword" in client.get(reverse("account_login")).content.decode()
    assert not mailoutbox


def test_a_wrong_password_is_said_in_plain_words(acme: Organisation) -> None:
    wrong = {"login": "nobody@example.org", "password": "not the password"}
    page = Client().post(reverse("account_login"), wrong, headers={"Accept-Language": "zh-CN"})
    assert "邮箱或密码不正确" in page.content.decode()


def test_a_recruiter_changes_the_own_password(acme: Organisation) -> None:
    user = recruiter(acme, PASSWORD)
    new = "another long password"
    fields = {"oldpassword": PASSWORD, "password1": new, "password2": new}
    assert client_of(user).post(reverse("account_change_password"), fields).status_code == 302
    user.refresh_from_db()
    assert user.check_password(new)


def test_nobody_can_sign_up() -> None:
    response = Client().post(
        reverse("account_signup"), {"email": "me@example.org", "password1": PASSWORD, "password2": PASSWORD}
    )
    assert "no sign-up" in response.content.decode()
    assert not Organisation.objects.exists()


def test_trying_a_dead_analysis_again_queues_it(acme: Organisation, interview: Interview) -> None:
    assert call(client_of(recruiter(acme)), "analysis_retry", interview) == 302
    job = Job.objects.get()
    assert (job.status, job.attempts) == ("queued", 0)
