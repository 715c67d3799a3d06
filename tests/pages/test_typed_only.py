"""A site without a speech model: no page speaks of a microphone, and answers are typed from the first on."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from apps.interviews.models import Interview, Template
from tests.pages.visit import choose


@pytest.fixture(autouse=True)
def no_model(voice: None, tmp_path: Path, settings: Settings) -> None:
    settings.ASR_MODEL, settings.MODELS_DIR = "base", tmp_path / "none"


def test_the_landing_page_says_that_answers_are_typed(client: Client, practice: Template) -> None:
    page = client.get("/").content.decode()
    assert "Answers are typed today" in page
    assert "out loud" not in page
    assert "Speak or type" not in page


def test_the_notice_says_it_too_and_names_two_steps(client: Client, practice: Template) -> None:
    interview = choose(client, practice)
    page = client.get(f"/interviews/{interview.public_id}/notice/").content.decode()
    assert "No sound is recorded" in page
    assert "<li>Microphone</li>" not in page


def test_the_microphone_check_is_left_out(client: Client, interview: Interview) -> None:
    address = f"/interviews/{interview.public_id}/"
    assert client.get(address + "microphone/")["Location"] == address
    page = client.get(address).content.decode()
    assert 'data-typing="true"' in page
    assert "As soon as you send an answer" in page


def test_with_a_model_the_microphone_is_offered(
    client: Client, interview: Interview, settings: Settings, tmp_path: Path
) -> None:
    settings.ASR_MODEL = str(tmp_path / "model")
    assert client.get(f"/interviews/{interview.public_id}/microphone/").status_code == 200
    assert "out loud" in client.get("/").content.decode()
