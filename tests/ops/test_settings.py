"""Settings: wrong ones stop the start, production ones are safe, all of them are documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from inference.models import speech_models
from interview_site.env import (
    SETTINGS,
    Setting,
    boolean,
    database_url,
    email_url,
    http_urls,
    port,
    redis_url,
    seconds,
    whole_number,
)
from interview_site.settings_table import PAGE, settings_page
from tests.ops.site import ROOT, manage

PRODUCTION = {"DEBUG": "0", "SECRET_KEY": "kV8-Tq2w9" * 6, "ALLOWED_ORIGINS": "https://viva.example.org"}


@pytest.mark.parametrize(
    ("parse", "raw"),
    [
        (boolean, "maybe"),
        (whole_number(64), "0"),
        (whole_number(64), "-3"),
        (whole_number(64), "ten"),
        (whole_number(64), "²"),
        (whole_number(64), "65"),
        (whole_number(64), "999"),
        (seconds(10, 60), "9"),
        (seconds(10, 60), "61"),
        (seconds(10, 60), "soon"),
        (http_urls, "127.0.0.1:8100"),
        (http_urls, "ftp://host"),
        (redis_url, "http://host"),
        (port, "99999"),
        (port, "0"),
        (port, "²"),
        (database_url, "foo://x"),
        (database_url, "mysql://host/name"),
        (email_url, "host:25"),
    ],
)
def test_a_wrong_value_names_its_variable(parse: object, raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING", raw)
    with pytest.raises(ImproperlyConfigured, match=f"^SOMETHING='{re.escape(raw)}': use "):
        Setting("SOMETHING", parse, None, "").read()  # type: ignore[arg-type]


def test_numbers_within_their_bounds_are_taken() -> None:
    assert [seconds(10, 60)(raw) for raw in ("10", "60")] == [10, 60]
    assert [whole_number(64)(raw) for raw in ("1", "64")] == [1, 64]


def test_a_wrong_address_is_shown_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING", "postgre://viva:Zwirner9@host/name")
    with pytest.raises(ImproperlyConfigured, match="postgre://…@host/name") as refused:
        Setting("SOMETHING", database_url, "", "").read()
    assert "Zwirner9" not in str(refused.value)


@pytest.mark.parametrize(("environment", "backend"), [({}, "console"), (PRODUCTION, "dummy")])
def test_only_a_laptop_prints_mails(tmp_path: Path, environment: dict[str, str], backend: str) -> None:
    code = "from django.conf import settings; print(settings.EMAIL_BACKEND)"
    assert f".{backend}." in manage(tmp_path / "var", "shell", "-v", "0", "-c", code, **environment).stdout


def test_mail_goes_where_it_is_told_to(tmp_path: Path) -> None:
    code = "from django.conf import settings as s; "
    code += "print(s.EMAIL_BACKEND, s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_USE_TLS)"
    url = "smtp+tls://viva:secret@mail.example.org:587"
    shown = manage(tmp_path / "var", "shell", "-v", "0", "-c", code, **PRODUCTION, EMAIL_URL=url).stdout
    assert shown.split()[-3:] == ["mail.example.org", "587", "True"]
    assert ".smtp." in shown


@pytest.mark.sqlite_only
@pytest.mark.django_db
def test_what_sqlite_erases_is_overwritten() -> None:
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA secure_delete").fetchone() == (1,)


def test_the_speech_models_that_exist_are_the_documented_ones() -> None:
    documented = next(one.meaning for one in SETTINGS if one.name == "ASR_MODEL")
    assert ", ".join(speech_models()) in documented


def test_production_refuses_to_start_without_a_key(tmp_path: Path) -> None:
    refused = manage(tmp_path / "var", "check", DEBUG="0", ALLOWED_ORIGINS="https://viva.example.org")
    assert refused.returncode == 1
    assert refused.stderr.startswith("SECRET_KEY is empty")


def test_a_deployment_has_no_warnings(tmp_path: Path) -> None:
    checked = manage(tmp_path / "var", "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert checked.returncode == 0, checked.stderr


def test_every_variable_that_the_code_reads_is_documented() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page()
    sources = [path for name in ("apps", "interview_site") for path in (ROOT / name).rglob("*.py")]
    read = {
        name
        for path in sources
        for name in re.findall(r'(?:environ\.get\(|environ\[|getenv\()"([A-Z_]+)"', path.read_text())
    }
    internal = {"RUN_MAIN", "DJANGO_SETTINGS_MODULE", "REDIS_URL"}
    assert read <= internal
