"""What became of audio that came late, for whoever reads the answer. Knows rows; hears nothing itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from difflib import SequenceMatcher
from typing import Literal

from django.utils import timezone

from apps.assessment.models import Correction
from apps.interviews.models import Turn
from apps.interviews.services.live import CORRECT
from apps.ops.models import Job

# A Chinese character, or a run of others with the space after it.
_TOKEN = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+\s*|\s+")

LateState = Literal["incomplete", "lost", "waiting", "failed", "corrected"]
DEVICE_KEEPS = timedelta(hours=24)  # static/js/store.js forgets its copy then


@dataclass(frozen=True, slots=True)
class Change:
    """A run of words: in both transcripts, only in the one before, or only in the one after."""

    kind: Literal["same", "gone", "new"]
    text: str


@dataclass(frozen=True, slots=True)
class LateAudio:
    """Where the audio of an answer stands that was closed before it was all there."""

    state: LateState
    late_s: float
    correction: Correction | None = None

    @property
    def coming(self) -> bool:
        """Whether words and score may still change by themselves."""
        return self.state in {"incomplete", "waiting"}

    @property
    def rescored(self) -> bool:
        found = self.correction
        return found is not None and found.value_before != found.value_after

    @property
    def changes(self) -> list[Change]:
        """The words before and after, compared; empty when they are the same."""
        found = self.correction
        if found is None or found.transcript_before == found.transcript_after:
            return []
        return words_compared(found.transcript_before, found.transcript_after)


def late_audio_of(turns: Sequence[Turn]) -> dict[int, LateAudio]:
    """By the turn's pk; an answer that was whole when it was closed has no entry."""
    affected = [turn for turn in turns if turn.late_s > 0 or not turn.audio_complete]
    if not affected:
        return {}
    corrections = {row.turn_id: row for row in Correction.objects.filter(turn__in=affected)}
    jobs = Job.objects.filter(kind=CORRECT, subject_id__in=[turn.pk for turn in affected])
    by_turn = {job.subject_id: job for job in jobs}
    found = ((turn, _state(turn, corrections.get(turn.pk), by_turn.get(turn.pk))) for turn in affected)
    return {turn.pk: late for turn, late in found if late is not None}


def words_compared(before: str, after: str) -> list[Change]:
    """What is gone from the text and what is new in it, in the order of reading."""
    return list(_compared(_TOKEN.findall(before), _TOKEN.findall(after)))


def _compared(before: list[str], after: list[str]) -> Iterator[Change]:
    bare_before, bare_after = ([token.strip() for token in tokens] for tokens in (before, after))
    for tag, first, last, start, end in SequenceMatcher(None, bare_before, bare_after).get_opcodes():
        gone, new = "".join(before[first:last]), "".join(after[start:end])
        if tag == "equal":
            yield Change("same", new)
            continue
        if gone:
            yield Change("gone", gone)
        if new:
            yield Change("new", new)


def _state(turn: Turn, correction: Correction | None, job: Job | None) -> LateAudio | None:
    if not turn.audio_complete:
        given_up = turn.ended_at is not None and timezone.now() - turn.ended_at > DEVICE_KEEPS
        return LateAudio("lost" if given_up else "incomplete", turn.late_s)
    if correction is not None:
        return LateAudio("corrected", correction.late_s, correction)
    if job is None:
        return None  # too little came to hear it again
    if job.status in {Job.Status.DEAD, Job.Status.TIMEOUT}:
        return LateAudio("failed", turn.late_s)
    return LateAudio("waiting", turn.late_s)
