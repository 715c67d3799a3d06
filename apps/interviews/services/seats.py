"""Who may write an interview: tickets, resume tokens, and the seat that one socket holds at a time.

Every write of a socket names its seat's generation; an older one is refused (fencing).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.interviews.models import Interview, Ticket

TICKET_S = 30


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


def hello_register(*, interview: Interview) -> Seat:
    """Take the interview over: from now on older sockets may not write. The first hello starts it."""
    with transaction.atomic():
        mine = Interview.objects.filter(pk=interview.pk)
        if not mine.update(generation=F("generation") + 1):
            raise InterviewGone
        mine.filter(status=Interview.Status.NOTICE).update(
            status=Interview.Status.LIVE, started_at=timezone.now()
        )
        return Seat(interview.pk, mine.values_list("generation", flat=True).get())


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


def _hashed(raw: str) -> str:
    return hashlib.sha256(raw.encode()).hexdigest()
