"""Deleting an interview erases every row and every file of it, and nothing else."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from channels.layers import get_channel_layer
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker, Settings

from apps.assessment.models import Correction, Evidence, Report, Score
from apps.interviews.group import GROUP
from apps.interviews.models import Candidate, Event, Interview, Ticket, Turn, Utterance
from apps.ops.jobs import job_enqueue
from apps.ops.models import Job
from apps.privacy.services import EraseError, interview_delete
from tests.database import site_database
from tests.live.stack import Person
from tests.pages.visit import consent_to

KEPT = (Interview, Turn, Utterance, Event, Ticket, Score, Evidence, Correction, Report, Candidate, Job)


def filled(interview: Interview, settings: Settings) -> tuple[Path, Path]:
    """Give the interview one of everything; returns its recording and its spooled frames."""
    question = interview.template.questions.first()
    assert question is not None
    owner = (interview.organisation.public_id.hex, interview.candidate.public_id.hex)
    folder = "/".join((*owner, interview.public_id.hex))
    turn = Turn.objects.create(
        interview=interview, number=1, question=question, question_text="?", audio_path=f"{folder}/0001.wav"
    )
    Utterance.objects.create(turn=turn, number=1, text="secret", start_s=0, end_s=1)
    score = Score.objects.create(turn=turn, value="7.5", grade="A", source="rules")
    Evidence.objects.create(score=score, dimension="clarity", value="7.0", weight=0.1)
    Correction.objects.create(turn=turn, sha256="0" * 64, late_s=1.0, transcript_before="secret")
    Report.objects.create(interview=interview)
    Event.objects.create(
        organisation=interview.organisation, interview=interview, eid=1, type="turn.ended", payload={}
    )
    for kind, subject_id in (("analyse_interview", interview.pk), ("correct_answer", turn.pk)):
        job_enqueue(organisation_id=interview.organisation_id, kind=kind, subject_id=subject_id)
    recording = Path(settings.MEDIA_ROOT, folder, "0001.wav")
    spooled = Path(settings.SPOOL_DIR, interview.public_id.hex, "0002.spool")
    for path in (recording, spooled):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"secret")
    return recording, spooled


def rows() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in KEPT}


def test_deleting_is_asked_first(client: Client, interview: Interview) -> None:
    page = client.get(f"/interviews/{interview.public_id}/delete/").content.decode()
    assert "cannot be undone" in page
    assert Interview.objects.filter(pk=interview.pk).exists()


def test_deleting_leaves_no_row_and_no_file(
    client: Client, interview: Interview, settings: Settings, redis: str
) -> None:
    filled(interview, settings)
    client.post(f"/interviews/{interview.public_id}/ticket/")
    assert all(rows().values())
    response = client.post(f"/interviews/{interview.public_id}/delete/", follow=True)
    assert "The interview is deleted" in response.content.decode()
    assert not any(rows().values())
    for folder in (settings.MEDIA_ROOT, settings.SPOOL_DIR):
        assert not [path for path in Path(folder).rglob("*") if path.is_file()]


def test_another_interview_of_the_same_person_stays(
    client: Client, interview: Interview, settings: Settings, redis: str
) -> None:
    other = consent_to(client, interview.template)
    filled(interview, settings)
    recording, spooled = filled(other, settings)
    client.post(f"/interviews/{interview.public_id}/delete/")
    assert Interview.objects.get() == other
    assert Candidate.objects.count() == 1
    assert recording.read_bytes() == spooled.read_bytes() == b"secret"


def test_an_open_page_is_told(interview: Interview, redis: str) -> None:
    layer = get_channel_layer()
    assert layer is not None

    async def received() -> dict[str, object]:
        async with asyncio.timeout(5):
            message = await layer.receive(interview.public_id.hex)
            return dict(message["messages"][interview.public_id.hex])

    asyncio.run(layer.group_add(GROUP, interview.public_id.hex))
    interview_delete(interview=interview)
    assert asyncio.run(received())["type"] == "interview.deleted"


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite locks the whole file at once")
def test_rows_are_locked_in_the_order_of_everybody_else(interview: Interview) -> None:
    """A live session holds the interview when it writes a turn; the other way round both would wait."""
    with CaptureQueriesContext(connection) as taken:
        interview_delete(interview=interview)
    statements = [query["sql"] for query in taken.captured_queries]
    locked = next(
        at for at, sql in enumerate(statements) if "FOR UPDATE" in sql and "interviews_interview" in sql
    )
    assert not any(sql.startswith("DELETE") and '"interviews_' in sql for sql in statements[:locked])


def test_without_redis_everything_is_erased_all_the_same(interview: Interview, settings: Settings) -> None:
    host = {"address": "redis://127.0.0.1:9/1", "socket_timeout": None}
    backend = "channels_redis.core.RedisChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": backend, "CONFIG": {"hosts": [host]}}}
    recording, _ = filled(interview, settings)
    interview_delete(interview=interview)
    assert not Interview.objects.exists()
    assert not recording.exists()


def test_a_folder_that_cannot_be_removed_is_told_and_not_hidden(
    client: Client, interview: Interview, settings: Settings, redis: str
) -> None:
    in_the_way = Path(settings.SPOOL_DIR, interview.public_id.hex)
    in_the_way.write_text("a file where a folder should be")
    response = client.post(f"/interviews/{interview.public_id}/delete/", follow=True)
    assert "a recording stayed behind" in response.content.decode()
    assert not Interview.objects.exists()
    in_the_way.unlink()


def test_erasing_again_is_safe_and_says_what_stays(
    interview: Interview, settings: Settings, redis: str
) -> None:
    in_the_way = Path(settings.SPOOL_DIR, interview.public_id.hex)
    in_the_way.write_text("a file where a folder should be")
    with pytest.raises(EraseError, match="Not a directory"):
        interview_delete(interview=interview)


@pytest.fixture
def file(var_dir: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """Rows in a file below VAR_DIR, as in production."""
    with django_db_blocker.unblock(), site_database(var_dir) as url:
        yield Path(url.removeprefix("sqlite:///"))


def said(path: Path, words: str) -> Interview:
    """An interview with an answer and an event that hold the words."""
    interview = Person().interview
    question = interview.template.questions.first()
    assert question is not None
    Turn.objects.create(interview=interview, number=1, question=question, question_text="?", transcript=words)
    payload = {"text": words}
    Event.objects.create(
        organisation=interview.organisation, interview=interview, eid=1, type="turn.ended", payload=payload
    )
    return interview


def files_with(folder: Path, words: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


@pytest.mark.sqlite_only
def test_deleted_words_are_in_no_file(var_dir: Path, file: Path) -> None:
    canary = "a canary that nobody else sings"
    interview = said(file, canary)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the words lie in the database file itself, too
    assert files_with(var_dir, canary) == [file.name]
    Turn.objects.filter(interview=interview).update(end_reason="done")  # and in the log
    interview_delete(interview=interview)
    assert files_with(var_dir, canary) == []


@pytest.mark.sqlite_only
def test_a_log_that_is_in_use_is_told_and_stops_no_deletion(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("apps.privacy.services.EMPTIED_WITHIN_MS", 100)
    interview = said(file, "words")
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM interviews_turn").fetchone()
        interview_delete(interview=interview)
    assert not Interview.objects.exists()
    assert "write-ahead log is in use" in caplog.text
