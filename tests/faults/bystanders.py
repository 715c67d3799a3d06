"""I6: another organisation's interview, complete with rows and a recording, which no scenario may touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import models

from apps.accounts.models import Organisation
from apps.assessment.models import Score
from apps.interviews.models import Candidate, Event, Interview, Question, Template, Turn, Utterance
from apps.ops.models import Job

SLUG = "bystander"
RECORDING = "bystander/0001.wav"


def make(folder: Path) -> dict[str, Any]:
    """Returns what there is of it now, for `changes` to compare with."""
    organisation = Organisation.objects.create(slug=SLUG, name="Bystander")
    template = Template.objects.create(organisation=organisation, slug=SLUG, title=SLUG, language="en")
    question = Question.objects.create(template=template, position=1, text="Why?", kind="behavioural")
    interview = Interview.objects.create(
        organisation=organisation,
        template=template,
        candidate=Candidate.objects.create(organisation=organisation, session_token=SLUG),
        language="en",
    )
    turn = Turn.objects.create(
        interview=interview,
        number=1,
        question=question,
        question_text=question.text,
        status=Turn.Status.ANSWERED,
        audio_path=RECORDING,
    )
    Utterance.objects.create(turn=turn, number=1, text="Because.", start_s=0, end_s=1)
    Event.objects.create(
        organisation=organisation, interview=interview, eid=1, type="answer.opened", payload={"turn": 1}
    )
    Score.objects.create(turn=turn, value=5, grade="C", source="rules")
    Job.objects.create(
        organisation_id=organisation.pk, kind="bystander", subject_id=interview.pk, status=Job.Status.DONE
    )
    wav = folder / "media" / RECORDING
    wav.parent.mkdir(parents=True)
    wav.write_bytes(b"not yours")
    return found(folder)


def found(folder: Path) -> dict[str, Any]:
    """Every row and file of the organisation."""
    of = {
        Organisation: {"slug": SLUG},
        Template: {"organisation__slug": SLUG},
        Question: {"template__organisation__slug": SLUG},
        Candidate: {"organisation__slug": SLUG},
        Interview: {"organisation__slug": SLUG},
        Turn: {"interview__organisation__slug": SLUG},
        Utterance: {"turn__interview__organisation__slug": SLUG},
        Event: {"organisation__slug": SLUG},
        Score: {"turn__interview__organisation__slug": SLUG},
    }
    rows = {model.__name__: _values(model, **where) for model, where in of.items()}
    ids = [row["id"] for row in rows["Organisation"]]
    wav = folder / "media" / RECORDING
    return {
        **rows,
        "Job": _values(Job, organisation_id__in=ids),
        "recording": wav.read_bytes() if wav.exists() else None,
    }


def changes(before: dict[str, Any], folder: Path) -> list[str]:
    after = found(folder)
    return [name for name in after if after[name] != before[name]]


def _values(model: type[models.Model], **where: Any) -> list[dict[str, Any]]:
    return list(model._default_manager.filter(**where).order_by("pk").values())
