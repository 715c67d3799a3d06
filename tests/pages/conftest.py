from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import Organisation
from apps.interviews.models import Interview, Question, Template
from tests.pages.modules import page
from tests.pages.visit import consent_to, looks_like_a_model, site, site_server


@pytest.fixture(autouse=True)
def voice(tmp_path: Path, settings: Settings) -> None:
    """Answers can be spoken, on a machine without a speech model too."""
    settings.ASR_MODEL = looks_like_a_model(tmp_path / "model")


@pytest.fixture
def practice(db: None) -> Template:
    organisation = Organisation.objects.create(name="Riverside", slug="riverside")
    template = Template.objects.create(
        organisation=organisation,
        slug="practice",
        title="Practice for engineers",
        language="en",
        practice=True,
    )
    for position, text in enumerate(("Tell me about a hard problem.", "Why this job?"), start=1):
        Question.objects.create(template=template, position=position, text=text, kind="behavioural")
    return template


@pytest.fixture
def interview(client: Client, practice: Template) -> Interview:
    """Chosen and consented to by the visitor that `client` is."""
    return consent_to(client, practice)


__all__ = ["interview", "page", "practice", "site", "site_server"]
