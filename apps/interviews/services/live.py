"""Rows of a running interview: tickets, generations, turns, events. Knows what is written, not when or why.

Every write names the generation of the socket it comes from; an older one is refused (fencing).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from apps.interviews.models import Event, Interview, Ticket, Turn, Utterance
from apps.ops.jobs import job_enqueue
from inference import events as ev

TICKET_S = 30
ANALYSE = "analyse_interview"
CORRECT = "correct_answer"  # its subject is a turn whose audio came late


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


@dataclass(frozen=True, slots=True)
class HeardRow:
    """One utterance as stored. Words: {text, start_s, end_s, confidence}, on the answer's audio clock."""

    number: int
    text: str
    words: Sequence[dict[str, object]]
    start_s: float
    end_s: float
    confidence: float
    low_confidence: bool


@dataclass(frozen=True, slots=True)
class FinishedTurn:
    """Everything a turn keeps once it is over."""

    number: int
    status: Turn.Status
    end_reason: str
    transcript: str
    low_confidence: bool = False
    speech_s: float = 0.0
    audio_path: str = ""
    audio_s: float = 0.0
    sha256: str = ""
    last_seq: int | None = None
    utterances: Sequence[HeardRow] = field(default=())


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


def event_append(*, seat: Seat, events: Sequence[ev.Event]) -> list[ev.Event]:
    """Store events under the next numbers and return them numbered. Raises Superseded."""
    with _seated(seat) as interview:
        return _appended(interview, events)


def turn_open(*, seat: Seat, turn: Turn, events: Sequence[ev.Event]) -> list[ev.Event]:
    """Store a new turn and the events that announce it: neither is ever without the other."""
    with _seated(seat) as interview:
        turn.interview = interview
        turn.save(force_insert=True)
        return _appended(interview, events)


def turn_epoch_keep(*, seat: Seat, number: int, epoch: str) -> None:
    """Remember which spool holds the turn's audio."""
    with _seated(seat) as interview:
        interview.turns.filter(number=number).exclude(epoch=epoch).update(epoch=epoch)


def typed_answer_keep(*, seat: Seat, number: int, text: str) -> None:
    """Keep a typed answer before it is judged, so that a crash cannot lose it."""
    with _seated(seat) as interview:
        _open_turns(interview).filter(number=number).update(input="text", transcript=text)


def turn_finish(*, seat: Seat, finished: FinishedTurn) -> Turn | None:
    """Close a turn with its utterances. None when it is closed already: the first result stands."""
    with _seated(seat) as interview:
        turn = _open_turns(interview).filter(number=finished.number).first()
        if turn is None:
            return None
        for name in ("status", "end_reason", "transcript", "low_confidence", "speech_s"):
            setattr(turn, name, getattr(finished, name))
        for name in ("audio_path", "audio_s", "sha256", "last_seq"):
            setattr(turn, name, getattr(finished, name))
        turn.ended_at = timezone.now()
        turn.save()
        turn.utterances.filter(decode=Utterance.Decode.LIVE).delete()
        Utterance.objects.bulk_create(_utterance(turn, heard) for heard in finished.utterances)
    return turn


def interview_finish(*, seat: Seat) -> bool:
    """Close the interview and order its analysis in the same transaction. False: it was closed already."""
    with _seated(seat) as interview:
        if interview.status == Interview.Status.FINISHED:
            return False
        interview.status = Interview.Status.FINISHED
        interview.finished_at = timezone.now()
        interview.save(update_fields=["status", "finished_at"])
        job_enqueue(organisation_id=interview.organisation_id, kind=ANALYSE, subject_id=interview.pk)
    return True


@contextmanager
def _seated(seat: Seat) -> Iterator[Interview]:
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


def _open_turns(interview: Interview) -> QuerySet[Turn]:
    return interview.turns.filter(status=Turn.Status.OPEN)


def _appended(interview: Interview, events: Sequence[ev.Event]) -> list[ev.Event]:
    first = interview.last_eid + 1
    numbered = [event.model_copy(update={"eid": eid}) for eid, event in enumerate(events, first)]
    interview.last_eid += len(numbered)
    interview.save(update_fields=["last_eid"])
    Event.objects.bulk_create(
        Event(
            organisation_id=interview.organisation_id,
            interview=interview,
            eid=event.eid,
            type=event.type,
            turn_number=getattr(event, "turn", None),
            payload=event.model_dump(mode="json", exclude={"eid"}),
        )
        for event in numbered
    )
    return numbered


def _utterance(turn: Turn, heard: HeardRow) -> Utterance:
    return Utterance(
        turn=turn,
        number=heard.number,
        decode=Utterance.Decode.LIVE,
        text=heard.text,
        words=list(heard.words),
        start_s=heard.start_s,
        end_s=heard.end_s,
        confidence=heard.confidence,
        low_confidence=heard.low_confidence,
    )


def _hashed(raw: str) -> str:
    return hashlib.sha256(raw.encode()).hexdigest()
