"""Database work of live sockets: in few threads, with bounded waits, again until it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

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
