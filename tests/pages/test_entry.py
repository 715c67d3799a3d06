"""Choosing, consenting, and whose interview it is."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.interviews.models import Candidate, Interview, Template
from apps.interviews.services import entry
from apps.privacy.notice import current_versions, notice_for
from tests.pages.visit import choose, consent_to


def test_the_landing_page_offers_practice_interviews_in_their_own_language(
    client: Client, practice: Template
) -> None:
    page = client.get("/").content.decode()
    assert "Practice for engineers" in page
    assert 'lang="en"' in page
    assert "2 questions, about 6 minutes" in page


def test_an_empty_site_says_what_to_do(client: Client, db: None) -> None:
    assert "No practice interview yet" in client.get("/").content.decode()


def test_an_interview_that_is_not_for_practice_cannot_be_started(client: Client, practice: Template) -> None:
    practice.practice = False
    practice.save()
    assert "Practice for engineers" not in client.get("/").content.decode()
    assert client.post(f"/practice/{practice.public_id}/").status_code == 404


def test_nothing_starts_by_following_a_link(client: Client, practice: Template) -> None:
    assert client.get(f"/practice/{practice.public_id}/").status_code == 405
    assert not Interview.objects.exists()


def test_choosing_twice_before_consent_takes_up_the_same_interview(
    client: Client, practice: Template
) -> None:
    assert choose(client, practice) == choose(client, practice)
    assert Candidate.objects.count() == 1


def test_a_second_practice_after_consent_is_a_new_interview(client: Client, practice: Template) -> None:
    assert consent_to(client, practice) != choose(client, practice)
    assert Candidate.objects.count() == 1


def test_the_notice_names_what_is_assessed_and_what_is_not(client: Client, practice: Template) -> None:
    interview = choose(client, practice)
    page = client.get(f"/interviews/{interview.public_id}/notice/").content.decode()
    for words in (
        "Riverside",
        "emotion, stress, personality, accent",
        "A person does",
        "delete the interview",
    ):
        assert words in page
    assert notice_for("en").version in page


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"agree": "yes"},
        {"agree": "yes", "notice_version": "2020-01-01.en.000000000000"},
        {"notice_version": notice_for("en").version},
        {"agree": "no", "notice_version": notice_for("en").version},
    ],
)
def test_without_consent_to_the_current_notice_nothing_starts(
    client: Client, practice: Template, body: dict[str, str]
) -> None:
    interview = choose(client, practice)
    address = f"/interviews/{interview.public_id}/"
    assert client.post(address + "notice/", body).status_code == 400
    interview.refresh_from_db()
    assert (interview.consented_at, interview.notice_version) == (None, "")
    assert client.get(address)["Location"] == address + "notice/"
    assert client.get(address + "microphone/")["Location"] == address + "notice/"
    assert client.post(address + "ticket/").status_code == 403


def test_consent_keeps_version_and_time_and_opens_the_microphone_check(
    client: Client, practice: Template
) -> None:
    interview = consent_to(client, practice)
    assert interview.notice_version in current_versions()
    assert interview.consented_at is not None
    assert interview.status == Interview.Status.NOTICE
    assert client.get(f"/interviews/{interview.public_id}/microphone/").status_code == 200


def test_the_first_consent_stands(interview: Interview) -> None:
    at, version = interview.consented_at, interview.notice_version
    entry.consent_record(interview=interview, notice_version="another")
    assert (interview.consented_at, interview.notice_version) == (at, version)


def test_a_consent_without_a_notice_is_refused(interview: Interview) -> None:
    with pytest.raises(ValueError, match="names the notice"):
        entry.consent_record(interview=interview, notice_version="")


def test_the_version_of_a_notice_changes_with_its_words() -> None:
    english, chinese = notice_for("en"), notice_for("zh-hans")
    assert english.version != chinese.version
    assert len(english.sections) == len(chinese.sections)
    assert all(len(version) <= 40 for version in current_versions())


@pytest.mark.parametrize("page", ["", "notice/", "microphone/", "report/", "delete/", "answers/1/audio/"])
def test_for_another_session_the_interview_does_not_exist(interview: Interview, page: str) -> None:
    assert Client().get(f"/interviews/{interview.public_id}/{page}").status_code == 404


@pytest.mark.parametrize("page", ["ticket/", "delete/", "notice/"])
def test_another_session_cannot_write_either(interview: Interview, page: str) -> None:
    stranger = Client()
    assert stranger.post(f"/interviews/{interview.public_id}/{page}").status_code == 404
    stranger.post(f"/practice/{interview.template.public_id}/")  # a candidate with a session of its own
    assert stranger.post(f"/interviews/{interview.public_id}/{page}").status_code == 404
    assert Interview.objects.filter(pk=interview.pk).exists()


def test_a_ticket_is_issued_for_this_session_only(client: Client, interview: Interview) -> None:
    answer = client.post(f"/interviews/{interview.public_id}/ticket/").json()
    ticket = interview.tickets.get()
    assert ticket.session_token == interview.candidate.session_token
    assert answer["ticket"] not in ticket.token_hash


def test_a_ticket_needs_the_csrf_token(interview: Interview) -> None:
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(f"/interviews/{interview.public_id}/ticket/").status_code == 403


def test_a_finished_interview_gives_no_ticket_and_leads_to_its_report(
    client: Client, interview: Interview
) -> None:
    interview.status = Interview.Status.FINISHED
    interview.save()
    address = f"/interviews/{interview.public_id}/"
    assert client.post(address + "ticket/").status_code == 409
    assert client.get(address)["Location"] == address + "report/"


def test_the_live_page_holds_no_inline_script_and_no_inline_style(
    client: Client, interview: Interview
) -> None:
    response = client.get(f"/interviews/{interview.public_id}/")
    page = response.content.decode()
    assert "script-src 'self'" in response["Content-Security-Policy"]
    assert " style=" not in page
    scripts = page.split("<script")[1:]
    assert all("src=" in script or 'type="application/json"' in script for script in scripts)


def test_the_live_page_reads_the_close_codes_from_the_server(client: Client, interview: Interview) -> None:
    page = client.get(f"/interviews/{interview.public_id}/").content.decode()
    assert '"4409": {"retry": false, "spread_ms": 0}' in page
    assert '"1012": {"retry": true, "spread_ms": 5000}' in page
