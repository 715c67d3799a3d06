"""What must have become of an interview once everything was handed in, whatever happened before."""

from __future__ import annotations

import hashlib
import wave
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.db import transaction

from apps.assessment.models import Score
from apps.interviews.models import Event, Interview, Turn
from apps.interviews.services.live import ANALYSE, CORRECT
from apps.live.frames import FRAME_MS, MIN_PCM_BYTES
from apps.ops.models import Job
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE
from tests.live.machine.page import Page, Tape, seqs_in
from tests.live.machine.server import Server

FRAME_S = MIN_PCM_BYTES / BYTES_PER_SAMPLE / SAMPLE_RATE


@contextmanager
def taken_back() -> Iterator[None]:
    """Rows are as they were before."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def pcm_in(path: Path) -> bytes:
    with wave.open(str(path)) as wav:
        return bytes(wav.readframes(wav.getnframes()))


def examine(interview: Interview, server: Server, page: Page) -> None:
    """Every frame once and in order, every answer with one result, nothing left behind."""
    turns = {turn.number: turn for turn in Turn.objects.filter(interview=interview)}
    assert sorted(turns) == sorted(page.tapes), "an answer too many or too few"
    for number, turn in turns.items():
        _examine_audio(turn, page.tapes[number], server.wav(number))
        _examine_result(turn, page.tapes[number])
    _examine_interview(interview, turns)
    assert not server.spools.exists(), "a spool that nobody needs any more"
    assert not server.disk.fds, "files are still open"


def _examine_audio(turn: Turn, tape: Tape, wav: Path) -> None:
    pcm = pcm_in(wav) if turn.audio_path else b""
    assert turn.sha256 == (hashlib.sha256(pcm).hexdigest() if pcm else "")
    seqs = seqs_in(tape.number, pcm)
    there = set(seqs)
    assert seqs == sorted(there), "out of order, or twice"
    assert there <= (set(range(tape.made)) - tape.lost) | tape.sent, "frames that were never sent"
    over = (turn.last_seq if turn.last_seq is not None else -1) + 1
    assert over == tape.made or turn.end_reason in {"skipped", "text", "finished"}, (
        f"{tape.made} captured, {over} kept"
    )
    assert tape.promised < over, "acknowledged and gone"
    absent = set(range(over)) - there
    assert absent <= tape.told_lost, f"missing: {absent}, told: {tape.told_lost}"
    assert _told(turn) == _holes(seqs, over)
    assert turn.low_confidence or not absent


def _examine_result(turn: Turn, tape: Tape) -> None:
    assert turn.status != Turn.Status.OPEN
    assert turn.audio_complete
    assert tape.committed == (turn.sha256 or "no audio")
    corrections = Job.objects.filter(kind=CORRECT, subject_id=turn.pk).count()
    assert corrections == int(turn.late_s >= 0.1), f"{corrections} corrections for {turn.late_s} s"
    assert Score.objects.filter(turn=turn).count() == int(turn.status == Turn.Status.ANSWERED)


def _examine_interview(interview: Interview, turns: dict[int, Turn]) -> None:
    assert Interview.objects.get(pk=interview.pk).status == Interview.Status.FINISHED
    assert Job.objects.filter(kind=ANALYSE, subject_id=interview.pk).count() == 1
    events = list(Event.objects.filter(interview=interview).order_by("eid"))
    assert [event.eid for event in events] == list(range(1, len(events) + 1))
    counts = Counter((event.type, event.turn_number) for event in events)
    for number in turns:
        assert counts["question.asked", number] == counts["answer.opened", number] == 1
        assert counts["turn.ended", number] <= 1, "a turn ended twice"
    assert sum(event.type == "session.ended" for event in events) == 1


def _told(turn: Turn) -> dict[float, float]:
    holes: Counter[float] = Counter()
    for hole in turn.missing:
        holes[round(hole["at_s"], 3)] += hole["seconds"]
    return {at_s: round(seconds, 3) for at_s, seconds in holes.items()}


def _holes(seqs: Sequence[int], over: int) -> dict[float, float]:
    """Where a recording of these frames has holes, and how long they are."""
    holes = {}
    for there, (before, seq) in enumerate(zip((-1, *seqs), (*seqs, over), strict=True)):
        if missing := seq - before - 1:
            holes[round(there * FRAME_S, 3)] = round(missing * FRAME_MS / 1_000, 3)
    return holes
