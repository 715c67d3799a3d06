"""Closes a turn for good: the WAV in the media root, then all its rows in one transaction.

Idempotent on (interview, turn): a crash anywhere in between leads to the same rows once.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.db import transaction

from apps.assessment.models import Score
from apps.assessment.services import score_record
from apps.interviews.models import Turn
from apps.interviews.selectors import course_for_interview, standing_of_interview
from apps.interviews.services.live import (
    FinishedTurn,
    HeardRow,
    interview_finish,
    turn_finish,
)
from apps.interviews.services.seats import Seat
from apps.live.course import Step, next_step
from apps.live.spool import Recording, Spool
from apps.live.spool_scan import LostRun
from inference import events as ev
from inference.assessment import Word
from inference.brief import AnswerOutcome
from inference.transcription import HeardUtterance


@dataclass(frozen=True, slots=True)
class Place:
    """Where one interview's rows and files are. `media_folder` is relative to `media_root`."""

    seat: Seat
    spool_folder: Path
    media_root: Path
    media_folder: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The audio of a finished turn. `path` is relative to the media root, "" when nothing was recorded."""

    path: str
    recording: Recording
    lost: tuple[LostRun, ...] = ()

    @property
    def missing(self) -> list[dict[str, object]]:
        """As a turn keeps it."""
        return [{"at_s": run.at_s, "seconds": run.seconds, "why": run.why} for run in self.lost]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A finished turn on its way to the rows. `rev` is the last feedback revision that was shown.

    `complete`: nothing of its audio is still to come.
    """

    outcome: AnswerOutcome
    kept: Kept
    rev: int
    complete: bool = True
    end_reason: str = ""  # instead of the session's
    last_turn: bool = False  # the candidate ends the interview with this answer


def audio_keep(place: Place, spool: Spool) -> Kept:
    """Write the answer's WAV. Blocks; raises OSError, and may then be called again."""
    if spool.samples == 0:
        spool.flush()
        return Kept("", Recording("", 0.0, spool.kept), spool.lost)
    path = f"{place.media_folder}/{spool.answer:04d}.wav"
    return Kept(path, spool.to_wav(place.media_root / path), spool.lost)


def audio_forget(place: Place, kept: Kept) -> None:
    """An interview erased while its answer was written leaves no recording behind."""
    if kept.path and standing_of_interview(interview_id=place.seat.interview_id) is None:
        wav = place.media_root / kept.path
        wav.unlink(missing_ok=True)
        with suppress(OSError):
            wav.parent.rmdir()


def verdict_record(*, seat: Seat, verdict: Verdict) -> Step | None:
    """Store the turn, its score and, after the last, the interview's end. Returns what comes next."""
    with transaction.atomic():
        _turn_record(seat, verdict)
        step = None if verdict.last_turn else next_step(course_for_interview(interview_id=seat.interview_id))
        if step is None:
            interview_finish(seat=seat)
    return step


def expiry_record(*, seat: Seat, verdict: Verdict | None = None) -> bool:
    """Store the turn that was open, if one was, and that the interview ended by being left."""
    with transaction.atomic():
        if verdict is not None:
            _turn_record(seat, verdict)
        return interview_finish(seat=seat, events=[ev.SessionEnded(reason="expired")])


def _turn_record(seat: Seat, verdict: Verdict) -> None:
    turn = turn_finish(seat=seat, finished=_finished(verdict))
    outcome = verdict.outcome
    if turn is not None and outcome.assessment is not None and turn.status == Turn.Status.ANSWERED:
        score_record(
            turn=turn,
            assessment=outcome.assessment,
            words=_words(outcome),
            stage=Score.Stage.LIVE,
            rev=verdict.rev,
            low_confidence=_unsure(verdict),
        )


def _finished(verdict: Verdict) -> FinishedTurn:
    outcome, recording = verdict.outcome, verdict.kept.recording
    return FinishedTurn(
        number=outcome.turn,
        status=_status(outcome),
        end_reason=_end_reason(verdict),
        transcript=outcome.transcript,
        low_confidence=_unsure(verdict),
        speech_s=outcome.speech_s,
        audio_path=verdict.kept.path,
        audio_s=recording.duration_s,
        sha256=recording.sha256,
        last_seq=recording.frames - 1,
        audio_complete=verdict.complete,
        missing=verdict.kept.missing,
        utterances=tuple(_heard(heard) for heard in outcome.utterances),
    )


def _end_reason(verdict: Verdict) -> str:
    unanswered = verdict.outcome.end_reason == "skipped"  # how a finished interview ends an empty turn too
    if verdict.last_turn and unanswered:
        return "finished"
    return verdict.end_reason or verdict.outcome.end_reason


def _unsure(verdict: Verdict) -> bool:
    """Also for a hole that came after the session had ended the turn."""
    return verdict.outcome.low_confidence or bool(verdict.kept.lost)


def _status(outcome: AnswerOutcome) -> Turn.Status:
    if outcome.end_reason == "skipped":
        return Turn.Status.SKIPPED
    judged = outcome.assessment is not None and outcome.assessment.score is not None
    return Turn.Status.ANSWERED if judged else Turn.Status.UNSCORED


def _heard(heard: HeardUtterance) -> HeardRow:
    transcript = heard.transcript
    return HeardRow(
        number=heard.number,
        text=transcript.text,
        words=[asdict(word) for word in transcript.words],
        start_s=heard.start_s,
        end_s=heard.end_s,
        confidence=transcript.confidence,
        low_confidence=transcript.low_confidence,
        raw_text=transcript.raw,
    )


def _words(outcome: AnswerOutcome) -> list[Word]:
    return [word for heard in outcome.utterances for word in heard.transcript.words]
