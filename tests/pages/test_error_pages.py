"""Whatever fails, a person sees our page in their language: with DEBUG=1 too, and on a busy database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoDbBlocker, Settings

from apps.interviews.models import Interview
from tests.database import no_writes, site_database
from tests.live.stack import Person
from tests.pages.visit import consent_to

CHINESE = {"Accept-Language": "zh-CN"}
PAGES = {
    "/nowhere/": (404, "There is nothing here", "这里什么也没有"),
    "/accounts/password/reset/": (404, "There is nothing here", "这里什么也没有"),
    "/broken/": (500, "Something went wrong on our side", "我们这边出了点问题"),
    "/suspicious/": (400, "This request could not be read", "无法处理这个请求"),
    "/forbidden/": (403, "This page is not open to you", "你不能打开这个页面"),
}


@pytest.fixture(params=[True, False], ids=["debug", "production"])
def visitor(request: pytest.FixtureRequest, db: None, settings: Settings) -> Client:
    settings.DEBUG = request.param
    settings.ROOT_URLCONF = "tests.pages.broken_urls"
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("address", PAGES)
def test_every_failure_has_our_page_in_the_language_of_its_visitor(visitor: Client, address: str) -> None:
    status, english, chinese = PAGES[address]
    in_english, in_chinese = visitor.get(address), visitor.get(address, headers=CHINESE)
    assert (in_english.status_code, in_chinese.status_code) == (status, status)
    assert english in in_english.content.decode()
    assert chinese in in_chinese.content.decode()


@pytest.mark.parametrize("address", PAGES)
def test_no_page_shows_a_traceback_a_setting_or_what_failed(visitor: Client, address: str) -> None:
    page = visitor.get(address).content.decode()
    assert not [slip for slip in ("Traceback", "DEBUG", "URLconf", "what somebody") if slip in page]


def test_what_failed_is_in_the_log_only(visitor: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "django.request"):
        visitor.get("/broken/")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError]


def test_an_address_without_its_slash_still_leads_on(visitor: Client) -> None:
    assert visitor.get("/privacy")["Location"] == "/privacy/"


def test_a_page_that_is_not_there_can_change_its_language(settings: Settings, db: None) -> None:
    settings.DEBUG = True
    strict = Client(enforce_csrf_checks=True)
    assert "csrfmiddlewaretoken" in strict.get("/nowhere/").content.decode()
    token = strict.cookies["csrftoken"].value
    sent = strict.post("/i18n/setlang/", {"language": "zh-hans", "csrfmiddlewaretoken": token})
    assert sent.status_code == 302


def test_somebody_else_s_interview_looks_like_none(
    client: Client, interview: Interview, settings: Settings
) -> None:
    settings.DEBUG = True
    for page in ("", "report/", "answers/1/audio/"):
        answer = Client().get(f"/interviews/{interview.public_id}/{page}")
        assert answer.status_code == 404
        assert "There is nothing here" in answer.content.decode()


@pytest.fixture
def database(tmp_path: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Rows in a file, as in production, with a short patience."""
    with django_db_blocker.unblock(), site_database(tmp_path) as url:
        connection.close()
        options = connection.settings_dict["OPTIONS"]
        connection.settings_dict["OPTIONS"] = {**options, "timeout": 0.2}
        yield url


@pytest.mark.sqlite_only
@pytest.mark.parametrize("debug", [True, False])
def test_while_the_database_is_locked_a_person_is_asked_to_try_again(
    database: str, settings: Settings, debug: bool
) -> None:
    settings.DEBUG = debug
    template = Person().interview.template
    visitor = Client(raise_request_exception=False)
    with no_writes(database):
        assert visitor.get("/").status_code == 200  # reading goes on
        refused = visitor.post(f"/practice/{template.public_id}/")
        in_chinese = visitor.post(f"/practice/{template.public_id}/", headers=CHINESE).content.decode()
    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    assert "Try again in a moment" in refused.content.decode()
    assert "请稍后再试" in in_chinese
    assert consent_to(visitor, template)
