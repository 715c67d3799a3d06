"""Closes an interview that nobody came back to, from what is durable: its events and its spool, no engines.

Blocks; called in a thread. A page that comes back meanwhile is stronger: it takes the seat and goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from apps.interviews.media import media_folder
from apps.interviews.models import Interview, Turn
from apps.interviews.selectors import answer_language, live_state, planned_question, question_spec
from apps.interviews.services.live import interview_claim
from apps.interviews.services.seats import InterviewGone, Seat, Superseded
from apps.live.recorder import Kept, Place, Verdict, audio_forget, audio_keep, expiry_record
from apps.live.spool import Spool, open_spool
from apps.ops.metrics import observe
from inference import events as ev
from inference.assessment import Answer
from inference.brief import AnswerOutcome, highest_rev
from inference.nlp.score import assess
from inference.transcription import heard_before, join_texts, words_lost

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Left:
    """The turn that was open, with its durable events."""

    turn: Turn
    past: Sequence[ev.Event]

    @property
    def ended(self) -> ev.TurnEnded | None:
        return next((event for event in self.past if isinstance(event, ev.TurnEnded)), None)

    @property
    def typed(self) -> str:
        return self.turn.transcript if self.turn.input == "text" else ""

    @property
    def skipped(self) -> bool:
        return self.ended is not None and self.ended.reason == "skipped"

    @property
    def unheard(self) -> bool:
        """What there is of the words must not be scored: some were said that nobody has."""
        return words_lost(self.past) and not self.typed

    @property
    def complete(self) -> bool:
        """Of any other answer the page may hold more than came."""
        return bool(self.typed) or self.skipped


def interview_expired(interview_id: int, beat: int | None = None) -> bool:
    """Close the interview for good, once. False: it is over, gone, or somebody holds it again.

    With a `beat` only if it still is the interview's. Raises OSError, SpoolBusyError; may be called again.
    """
    seat = interview_claim(interview_id=interview_id, beat=beat)
    if seat is None:
        return False
    try:
        expired = _closed(seat)
    except (Superseded, Interview.DoesNotExist):
        logger.info("interview %d was taken up again while it expired", interview_id)
        return False
    if expired:
        observe("interview_expired", 1)
    return expired


def _closed(seat: Seat) -> bool:
    interview = Interview.objects.select_related("organisation", "candidate", "template").get(
        pk=seat.interview_id
    )
    turn = interview.turns.filter(status=Turn.Status.OPEN).select_related("question").first()
    if turn is None:
        return expiry_record(seat=seat)
    state = live_state(interview_id=interview.pk, after_eid=interview.last_eid)
    past = state.of_turn(turn.number) if state is not None else ()
    left = _Left(turn, past)
    return _turn_closed(_place(interview, seat), left)


def _place(interview: Interview, seat: Seat) -> Place:
    return Place(
        seat=seat,
        spool_folder=Path(settings.SPOOL_DIR) / interview.public_id.hex,
        media_root=Path(settings.MEDIA_ROOT),
        media_folder=media_folder(interview),
    )


def _turn_closed(place: Place, left: _Left) -> bool:
    """The recording, all rows at once, and the spool let go unless the page may hold more."""
    spool = open_spool(place.spool_folder, left.turn.number)
    let_go = spool.close
    try:
        kept = audio_keep(place, spool)
        try:
            expired = expiry_record(seat=place.seat, verdict=_verdict(left, spool, kept))
        except Superseded as exc:
            audio_forget(place, kept)
            if isinstance(exc, InterviewGone):
                let_go = spool.remove
            raise
        if left.complete:
            let_go = spool.remove
    finally:
        let_go()
    return expired


def _verdict(left: _Left, spool: Spool, kept: Kept) -> Verdict:
    told_end = left.ended is not None or left.typed
    return Verdict(
        _outcome(left, spool),
        kept,
        rev=highest_rev(left.past),
        complete=left.complete,
        end_reason="" if told_end else "expired",
    )


def _outcome(left: _Left, spool: Spool) -> AnswerOutcome:
    answer = _answer(left, spool)
    scored = answer.text and not left.skipped and not left.unheard
    assessment = assess(answer) if scored else None
    heard = heard_before(left.past)
    return AnswerOutcome(
        turn=left.turn.number,
        end_reason=_end_reason(left, spool, answer),
        transcript=answer.text,
        utterances=heard,
        assessment=assessment,
        outcome="unscored" if assessment is None else "complete",
        low_confidence=answer.low_confidence,
        speech_s=answer.speech_s or 0.0,
        speech_end_s=heard[-1].voice_end_s if heard else None,
    )


def _answer(left: _Left, spool: Spool) -> Answer:
    turn, heard = left.turn, heard_before(left.past)
    text = join_texts([*(h.transcript.text for h in heard), left.typed])
    return Answer(
        question=question_spec(
            planned_question(turn.question),
            text=turn.question_text,
            follow_up=turn.kind == Turn.Kind.FOLLOW_UP,
            language=answer_language(turn.interview, text),
        ),
        text=text,
        words=tuple(word for h in heard for word in h.transcript.words),
        speech_s=sum(h.voice_end_s - h.start_s for h in heard) if heard else None,
        low_confidence=bool(spool.lost)
        or words_lost(left.past)
        or any(h.transcript.low_confidence for h in heard),
    )


def _end_reason(left: _Left, spool: Spool, answer: Answer) -> ev.EndReason:
    """Without words and without audio the question was left, as if it had been skipped."""
    if left.typed:
        return "text"
    if left.ended is not None:
        return left.ended.reason
    return "done" if answer.text or spool.samples else "skipped"
