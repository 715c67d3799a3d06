"""Database work of live sockets: in few threads, with bounded waits, again until it is done."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from django.db import OperationalError, connection

from apps.interviews.models import Interview
from apps.live import rows
from apps.live.rows import in_database, insist
from tests.database import no_writes, on_postgres
from tests.live.here import Statements, database_threads
from tests.live.stack import WITHIN_S, Person


@pytest.fixture
def person(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    with database_threads(monkeypatch, Statements()):
        yield Person()


@pytest.fixture
def kept_open(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One thread, whose connections stay open as a site's do."""
    monkeypatch.setattr(rows, "THREADS", 1)
    with database_threads(monkeypatch, Statements(), keep=True):
        yield
        asyncio.run(in_database(closed))


def opened() -> object:
    connection.ensure_connection()
    return connection.connection


def closed() -> None:
    connection.close()


def lock_wait() -> str:
    asked = "SHOW lock_timeout" if on_postgres() else "PRAGMA busy_timeout"
    with connection.cursor() as cursor:
        cursor.execute(asked)
        return str(cursor.fetchone()[0])


def raise_beat(interview_id: int, beat: int) -> int:
    return Interview.objects.filter(pk=interview_id).update(beat=beat)


def test_a_thread_of_live_sockets_waits_for_no_lock_longer_than_two_seconds(person: Person) -> None:
    assert asyncio.run(in_database(lock_wait)) in {"2000", "2s"}
    assert lock_wait() not in {"2000", "2s"}  # nobody else's connections are meant


def test_as_many_writers_as_there_are_threads_do_not_keep_readers_out_for_ever(
    person: Person, database: str
) -> None:
    async def crowd() -> list[object]:
        writes = [in_database(raise_beat, person.interview.pk, beat) for beat in range(rows.THREADS)]
        reads = [in_database(Interview.objects.filter(pk=person.interview.pk).exists)]
        async with asyncio.timeout(WITHIN_S):
            return list(await asyncio.gather(*writes, *reads, return_exceptions=True))

    with no_writes(database):
        *writes, read = asyncio.run(crowd())
    assert {type(write) for write in writes} == {OperationalError}
    assert read is True


def test_what_must_be_written_is_tried_until_the_database_takes_it(person: Person, database: str) -> None:
    async def write() -> None:
        writing = asyncio.create_task(insist(raise_beat, person.interview.pk, 77))
        with no_writes(database):
            await in_database(Interview.objects.count)
            assert not writing.done()
        async with asyncio.timeout(WITHIN_S):
            await writing

    asyncio.run(write())
    assert Interview.objects.get(pk=person.interview.pk).beat == 77


@pytest.mark.sqlite_only
def test_a_connection_is_kept_for_the_next_work_and_not_for_ever(
    kept_open: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = asyncio.run(in_database(opened))
    assert asyncio.run(in_database(opened)) is first
    asyncio.run(in_database(closed))
    monkeypatch.setattr(rows, "KEPT_S", 0.0)
    old = asyncio.run(in_database(opened))
    assert asyncio.run(in_database(opened)) is not old


@pytest.mark.sqlite_only
def test_a_connection_to_a_file_that_was_replaced_is_not_used_again(kept_open: None, tmp_path: Path) -> None:
    def note_in(name: Path) -> None:
        connection.close()
        connection.settings_dict["NAME"] = str(name)
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE note (words text)")

    def notes() -> list[tuple[str]]:
        with connection.cursor() as cursor:
            return list(cursor.execute("SELECT words FROM note"))

    name, restored = tmp_path / "rows.sqlite3", tmp_path / "restored.sqlite3"
    asyncio.run(in_database(note_in, name))
    assert asyncio.run(in_database(notes)) == []
    shutil.copy(name, restored)
    with closing(sqlite3.connect(restored)) as other, other:
        other.execute("CREATE TABLE IF NOT EXISTS note (words text)")
        other.execute("INSERT INTO note VALUES ('from the backup')")
    for left in ("-wal", "-shm"):
        name.with_name(name.name + left).unlink(missing_ok=True)
    restored.replace(name)
    assert asyncio.run(in_database(notes)) == [("from the backup",)]


def test_after_an_error_of_the_database_the_next_work_has_a_connection_of_its_own(kept_open: None) -> None:
    def away() -> None:
        raise OperationalError("the server closed the connection")

    first = asyncio.run(in_database(opened))
    with pytest.raises(OperationalError):
        asyncio.run(in_database(away))
    assert asyncio.run(in_database(opened)) is not first
