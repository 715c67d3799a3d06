"""Who may write an interview: tickets, resume tokens, and the seat that one socket holds at a time.

Every write of a socket names its seat's generation; an older one is refused (fencing).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, DateTimeField, F, QuerySet, Value, When
from django.utils import timezone

from apps.interviews.models import Interview, Ticket
from apps.interviews.selectors import Standing
from apps.ops.statements import Change

TICKET_S = 30
RESUME_S = 900  # after the last sign of the socket that got the token
TAKE_ATTEMPTS = 5
_SEAT_FIELDS = ("generation", "status", "resume_hash", "resume_expires_at")


class TicketRefused(Exception):  # noqa: N818 - a verdict, not a fault
    """Unknown, used, expired, or meant for another session or interview: the caller is not told which."""


class Superseded(Exception):  # noqa: N818 - a newer socket took over, or the interview is gone
    """Writes of this socket count no more."""


class InterviewGone(Superseded):
    """Nobody took over: the interview was erased."""


@dataclass(frozen=True, slots=True)
class Seat:
    """The right of one socket to write one interview, until a newer hello takes a higher generation."""

    interview_id: int
    generation: int


def ticket_issue(*, interview: Interview, session_token: str) -> str:
    """A ticket for one socket, valid once and for 30 s. Expired ones of this interview go away."""
    raw = secrets.token_urlsafe(32)
    now = timezone.now()
    interview.tickets.filter(expires_at__lt=now).delete()
    Ticket.objects.create(
        interview=interview,
        token_hash=_hashed(raw),
        session_token=session_token,
        expires_at=now + timedelta(seconds=TICKET_S),
    )
    return raw


def ticket_redeem(*, raw: str, interview: Interview, session_token: str) -> None:
    """Use a ticket up, in one statement: of two redeemers one wins. Raises TicketRefused."""
    now = timezone.now()
    used = Ticket.objects.filter(
        token_hash=_hashed(raw),
        interview=interview,
        session_token=session_token,
        used_at=None,
        expires_at__gte=now,
    ).update(used_at=now)
    if not used or not session_token:
        raise TicketRefused


def resume_allowed(*, interview: Interview, raw: str) -> bool:
    """Whether `raw` is the token of the interview's last welcome. Only `seat_take` uses it up."""
    expires_at = interview.resume_expires_at
    if not raw or expires_at is None or expires_at < timezone.now():
        return False
    return secrets.compare_digest(interview.resume_hash, _hashed(raw))


def seat_take(*, interview: Interview, resume: str = "") -> tuple[Seat, str]:
    """Take the interview over: from now on older sockets may not write. The first hello starts it.

    One statement raises the generation as it was read and puts a new token in the place of the old one; so
    each token has one winner. Returns the new one. Raises TicketRefused when another socket was quicker
    with `resume`, InterviewGone.
    """
    for _ in range(TAKE_ATTEMPTS):
        raw = secrets.token_urlsafe(32)
        if _taken(interview, raw):
            return Seat(interview.pk, interview.generation + 1), raw
        try:
            interview.refresh_from_db(fields=_SEAT_FIELDS)
        except Interview.DoesNotExist:
            raise InterviewGone from None
        if resume and not resume_allowed(interview=interview, raw=resume):
            raise TicketRefused
    raise Superseded


def seats_keep(*, seats: Collection[Seat]) -> dict[int, Standing]:
    """Note that these seats are held, in two statements for all; how each interview stands, if it does."""
    known = Interview.objects.filter(pk__in=[seat.interview_id for seat in seats])
    rows = known.values_list("pk", "generation", "consented_at")
    standings = {pk: Standing(generation, consented_at is not None) for pk, generation, consented_at in rows}
    held = [seat.interview_id for seat in seats if _is_held(seat, standings.get(seat.interview_id))]
    if held:
        expires_at = timezone.now() + timedelta(seconds=RESUME_S)
        Interview.objects.filter(pk__in=held).update(beat=F("beat") + 1, resume_expires_at=expires_at)
    return standings


@contextmanager
def seated(seat: Seat) -> Iterator[Interview]:
    """A transaction in which no newer hello can take the interview over. Raises Superseded."""
    with transaction.atomic():
        try:
            interview = Interview.objects.select_for_update().get(
                pk=seat.interview_id, generation=seat.generation
            )
        except Interview.DoesNotExist:
            there = Interview.objects.filter(pk=seat.interview_id).exists()
            raise (Superseded if there else InterviewGone) from None
        yield interview


def _taken(interview: Interview, raw: str) -> bool:
    """Whether the row is still as it was read, and ours from now on."""
    now = timezone.now()
    expires_at = now + timedelta(seconds=RESUME_S)
    known, generation = interview.pk, interview.generation
    return bool(_TAKING.made(known, generation, generation + 1, _hashed(raw), expires_at, now))


def _taking(
    known: int, generation: int, next_generation: int, resume_hash: str, expires_at: datetime, now: datetime
) -> tuple[QuerySet[Any, Any], dict[str, Any]]:
    first = When(status=Interview.Status.NOTICE, then=Value(now, DateTimeField()))
    begun = When(status=Interview.Status.NOTICE, then=Value(Interview.Status.LIVE.value))
    return Interview.objects.filter(pk=known, generation=generation), {
        "generation": next_generation,
        "beat": F("beat") + 1,
        "resume_hash": resume_hash,
        "resume_expires_at": expires_at,
        "status": Case(begun, default=F("status")),
        "started_at": Case(first, default=F("started_at")),
    }


def _is_held(seat: Seat, standing: Standing | None) -> bool:
    return standing is not None and standing.generation == seat.generation and standing.consented


def _hashed(raw: str) -> str:
    return hashlib.sha256(raw.encode()).hexdigest()


_TAKING = Change(
    *(_taking, 101, 102, 103, "the hash of a token"),
    *(datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)),
)
