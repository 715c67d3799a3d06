"""Rows of a running interview: turns, events, its end. Knows what is written, not when or why.

Every write names the seat of the socket it comes from; an older one is refused (fencing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from apps.interviews.models import Event, Interview, Turn, Utterance
from apps.interviews.services.seats import Seat, seated
from apps.ops.jobs import job_enqueue
from inference import events as ev

ANALYSE = "analyse_interview"
CORRECT = "correct_answer"  # its subject is a turn whose audio came late
LATE_S = 0.1  # less than a frame holds no word
_OF_AUDIO = (
    *("audio_path", "audio_s", "sha256", "last_seq", "audio_complete", "missing", "late_s"),
    *("low_confidence", "status"),
)


@dataclass(frozen=True, slots=True)
class HeardRow:
    """One utterance as stored. Words: {text, start_s, end_s, confidence, heard}, on the answer's audio clock.

    `raw_text` is what the recogniser wrote, "" where that is `text`.
    """

    number: int
    text: str
    words: Sequence[dict[str, object]]
    start_s: float
    end_s: float
    confidence: float
    low_confidence: bool
    raw_text: str = ""


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
    audio_complete: bool = True
    missing: Sequence[dict[str, object]] = field(default=())
    utterances: Sequence[HeardRow] = field(default=())


@dataclass(frozen=True, slots=True)
class LateAudio:
    """All audio of a closed turn, once it is here.

    `audio_path` "": no more than the turn has already. `last_seq` None: less, so nothing of it is told.
    """

    number: int
    audio_path: str = ""
    audio_s: float = 0.0
    sha256: str = ""
    last_seq: int | None = None
    missing: Sequence[dict[str, object]] = field(default=())


@dataclass(frozen=True, slots=True)
class Completed:
    """A turn whose audio is all here: the recording's checksum, and what became known with it."""

    sha256: str
    events: Sequence[ev.Event] = ()


def event_append(*, seat: Seat, events: Sequence[ev.Event]) -> list[ev.Event]:
    """Store events under the next numbers and return them numbered. Raises Superseded."""
    with seated(seat) as interview:
        return _appended(interview, events)


def turn_open(*, seat: Seat, turn: Turn, events: Sequence[ev.Event]) -> list[ev.Event]:
    """Store a new turn and the events that announce it: neither is ever without the other."""
    with seated(seat) as interview:
        turn.interview = interview
        turn.save(force_insert=True)
        return _appended(interview, events)


def turn_epoch_keep(*, seat: Seat, number: int, epoch: str) -> None:
    """Remember which spool holds the turn's audio."""
    with seated(seat) as interview:
        interview.turns.filter(number=number).exclude(epoch=epoch).update(epoch=epoch)


def typed_answer_keep(*, seat: Seat, number: int, text: str) -> None:
    """Keep a typed answer before it is judged, so that a crash cannot lose it."""
    with seated(seat) as interview:
        _open_turns(interview).filter(number=number).update(input="text", transcript=text)


def turn_finish(*, seat: Seat, finished: FinishedTurn) -> Turn | None:
    """Close a turn with its utterances. None when it is closed already: the first result stands."""
    with seated(seat) as interview:
        turn = _open_turns(interview).filter(number=finished.number).first()
        if turn is None:
            return None
        for name in ("status", "end_reason", "transcript", "low_confidence", "speech_s"):
            setattr(turn, name, getattr(finished, name))
        for name in ("audio_path", "audio_s", "sha256", "last_seq", "audio_complete"):
            setattr(turn, name, getattr(finished, name))
        turn.missing = list(finished.missing)
        turn.ended_at = timezone.now()
        turn.save()
        turn.utterances.filter(decode=Utterance.Decode.LIVE).delete()
        Utterance.objects.bulk_create(_utterance(turn, heard) for heard in finished.utterances)
    return turn


def late_audio_record(*, seat: Seat, late: LateAudio) -> Completed:
    """Complete the recording of a closed turn; words in it that nobody heard are to be heard by a job.

    Said again it changes nothing.
    """
    with seated(seat) as interview:
        turn = interview.turns.select_for_update().get(number=late.number)
        if turn.audio_complete or turn.status == Turn.Status.OPEN:
            return Completed(turn.sha256)
        holes = [hole for hole in late.missing if hole not in turn.missing]
        gained_s = _audio_taken(turn, late)
        if gained_s >= LATE_S:
            job_enqueue(organisation_id=interview.organisation_id, kind=CORRECT, subject_id=turn.pk)
        turn.save(update_fields=_OF_AUDIO)
        missing = [ev.EVENT.validate_python(_missing_event(turn, hole), strict=False) for hole in holes]
        return Completed(turn.sha256, _appended(interview, missing))


def _audio_taken(turn: Turn, late: LateAudio) -> float:
    """The turn with its late audio; returns how many seconds it gained."""
    gained_s = round(late.audio_s - turn.audio_s, 3) if late.audio_path else 0.0
    turn.audio_complete = True
    if late.audio_path:
        turn.audio_path, turn.audio_s, turn.sha256 = late.audio_path, late.audio_s, late.sha256
    if late.last_seq is not None:
        turn.last_seq, turn.missing = late.last_seq, list(late.missing)
        turn.low_confidence |= bool(turn.missing)
    if gained_s >= LATE_S:
        turn.late_s += gained_s
        if turn.status == Turn.Status.SKIPPED:  # left alone, so it seemed: it was answered out of reach
            turn.status = Turn.Status.UNSCORED
    return gained_s


def _missing_event(turn: Turn, hole: dict[str, object]) -> dict[str, object]:
    return {"type": "audio.missing", "turn": turn.number, **hole}


def interview_claim(*, interview_id: int, beat: int | None = None) -> Seat | None:
    """Take a live interview over from every socket. None: it is not live, or its beat went on."""
    with transaction.atomic():
        live = Interview.objects.filter(pk=interview_id, status=Interview.Status.LIVE)
        if beat is not None:
            live = live.filter(beat=beat)
        if not live.update(generation=F("generation") + 1):
            return None
        generation = Interview.objects.filter(pk=interview_id).values_list("generation", flat=True).get()
    return Seat(interview_id, generation)


def interview_finish(*, seat: Seat, events: Sequence[ev.Event] = ()) -> bool:
    """Close the interview, with the `events` that tell of it, and order its analysis in the same transaction.

    False, writing nothing: it was closed already.
    """
    with seated(seat) as interview:
        if interview.status == Interview.Status.FINISHED:
            return False
        interview.status = Interview.Status.FINISHED
        interview.finished_at = timezone.now()
        interview.save(update_fields=["status", "finished_at"])
        _appended(interview, events)
        job_enqueue(organisation_id=interview.organisation_id, kind=ANALYSE, subject_id=interview.pk)
    return True


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
        raw_text=heard.raw_text,
        words=list(heard.words),
        start_s=heard.start_s,
        end_s=heard.end_s,
        confidence=heard.confidence,
        low_confidence=heard.low_confidence,
    )
