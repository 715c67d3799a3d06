"""Erasing an interview: rows, recordings and spooled frames, everywhere they lie."""

from __future__ import annotations

import logging
import shutil
from contextlib import suppress
from pathlib import Path

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import transaction

from apps.interviews.group import ring
from apps.interviews.media import media_folder
from apps.interviews.models import Candidate, Interview
from apps.interviews.services.live import ANALYSE
from apps.ops.models import Job

logger = logging.getLogger(__name__)


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
        candidate_id = interview.candidate_id
        Interview.objects.filter(pk=interview_id).delete()
        Candidate.objects.filter(pk=candidate_id, interviews=None).delete()
    async_to_sync(ring)(public_hex, {"type": "interview.deleted"})  # without Redis it ends at its next write
    for folder in folders:
        _remove(folder)
    _remove_if_empty(folders[0].parent)  # the candidate's
    logger.info("interview %s erased", public_hex)


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
