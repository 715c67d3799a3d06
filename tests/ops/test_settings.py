"""Settings: wrong ones stop the start, production ones are safe, all of them are documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from interview_site.env import Setting, boolean, http_urls, redis_url, whole_number
from interview_site.settings_table import PAGE, settings_page
from tests.ops.site import ROOT, manage

PRODUCTION = {"DEBUG": "0", "SECRET_KEY": "kV8-Tq2w9" * 6, "ALLOWED_ORIGINS": "https://viva.example.org"}


@pytest.mark.parametrize(
    ("parse", "raw"),
    [
        (boolean, "maybe"),
        (whole_number, "0"),
        (whole_number, "-3"),
        (whole_number, "ten"),
        (http_urls, "127.0.0.1:8100"),
        (http_urls, "ftp://host"),
        (redis_url, "http://host"),
    ],
)
def test_a_wrong_value_names_its_variable(parse: object, raw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING", raw)
    with pytest.raises(ImproperlyConfigured, match=f"^SOMETHING='{re.escape(raw)}': use "):
        Setting("SOMETHING", parse, None, "").read()  # type: ignore[arg-type]


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
