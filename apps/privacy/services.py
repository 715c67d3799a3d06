"""Erasing an interview: rows, recordings and spooled frames, everywhere they lie."""

from __future__ import annotations

import asyncio
import logging
import shutil
from contextlib import suppress
from pathlib import Path

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import transaction

from apps.interviews.models import Candidate, Interview
from apps.ops.metrics import FALLBACKS
from apps.ops.models import Job

log = logging.getLogger(__name__)
_SEND_LIMIT_S = 0.25


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
        Job.objects.filter(subject_id=interview_id, kind__in=("analyse_interview",)).delete()
        candidate_id = interview.candidate_id
        Interview.objects.filter(pk=interview_id).delete()
        Candidate.objects.filter(pk=candidate_id, interviews=None).delete()
    _tell_session(public_hex)
    for folder in folders:
        _remove(folder)
    _remove_if_empty(folders[0].parent)  # the candidate's
    log.info("interview %s erased", public_hex)


def _folders(interview: Interview) -> tuple[Path, ...]:
    """Every folder that only this interview fills."""
    owner = interview.organisation.public_id.hex, interview.candidate.public_id.hex
    recordings = Path(settings.MEDIA_ROOT).joinpath(*owner, interview.public_id.hex)
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


def _tell_session(public_hex: str) -> None:
    """Ask an open live session to stop. Without Redis it stops at its next write instead."""
    try:
        async_to_sync(_group_send)(f"interview.{public_hex}", {"type": "interview.deleted"})
    except Exception as exc:  # noqa: BLE001 - the rows are gone; a lost doorbell must not undo that
        log.warning("interview %s: open page not told (%s)", public_hex, type(exc).__name__)
        FALLBACKS.labels("layer_lost").inc()


async def _group_send(group: str, message: dict[str, str]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        async with asyncio.timeout(_SEND_LIMIT_S):
            await layer.group_send(group, message)
