"""Erasing an interview: rows, recordings and spooled frames, everywhere they lie."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from apps.interviews.group import ring
from apps.interviews.media import media_folder
from apps.interviews.models import Candidate, Interview
from apps.interviews.services.live import ANALYSE, CORRECT
from apps.ops.metrics import FALLBACKS
from apps.ops.models import Job

logger = logging.getLogger(__name__)

EMPTIED_WITHIN_MS = 2000


class EraseError(Exception):
    """Rows are gone but a file could not be removed."""


def interview_delete(*, interview: Interview) -> None:
    """Erase an interview and, with the last one, its candidate. An open live session is told and ends.

    Rows first: whatever still runs for this interview fails at its next write. Raises EraseError when a file
    stays behind; calling again is safe.
    """
    interview_id = interview.pk
    public_hex = interview.public_id.hex
    folders = _folders(interview)
    with transaction.atomic():
        Job.objects.filter(subject_id=interview_id, kind=ANALYSE).delete()
        turns = list(interview.turns.values_list("pk", flat=True))
        Job.objects.filter(subject_id__in=turns, kind=CORRECT).delete()
        Interview.objects.select_for_update().filter(pk=interview_id).first()  # before its turns, like others
        candidate_id = interview.candidate_id
        Interview.objects.filter(pk=interview_id).delete()
        Candidate.objects.filter(pk=candidate_id, interviews=None).delete()
    async_to_sync(ring)(public_hex, {"type": "interview.deleted"})  # without Redis it ends at its next write
    _empty_write_ahead_log()
    for folder in folders:
        _remove(folder)
    _remove_if_empty(folders[0].parent)  # the candidate's
    logger.info("interview %s erased", public_hex)


def _empty_write_ahead_log() -> None:
    """SQLite keeps what was written, deleted words too, in its log until that is emptied. Fails softly:

    the next deletion, or the last connection to close, empties it.
    """
    if connection.vendor != "sqlite":
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            before_ms = int(cursor.fetchone()[0])
            cursor.execute(f"PRAGMA busy_timeout = {EMPTIED_WITHIN_MS}")
            try:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                busy = bool(cursor.fetchone()[0])
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {before_ms}")
    except DatabaseError as exc:
        busy = True
        logger.debug("write-ahead log: %s", type(exc).__name__)
    if busy:
        logger.warning("the database's write-ahead log is in use; deleted words stay in it for a while")
        FALLBACKS.labels("log_not_emptied").inc()


def _folders(interview: Interview) -> tuple[Path, ...]:
    """Every folder that only this interview fills."""
    recordings = Path(settings.MEDIA_ROOT) / media_folder(interview)
    return recordings, Path(settings.SPOOL_DIR) / interview.public_id.hex


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as exc:
        raise EraseError(f"{folder.name}: {exc.strerror}") from exc


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # another interview's recordings are in it, or it never was
        folder.rmdir()
