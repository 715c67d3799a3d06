"""Audio that came late: heard with the whole recording, once, whatever the analysis did before or after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.db import connection
from pytest_django import Settings

from apps.assessment import analysis, reader
from apps.assessment.analysis import GivenAnswer, read_again
from apps.assessment.corrections import late_audio_of
from apps.assessment.models import Correction, Report, Score
from apps.assessment.services import report_rebuild, score_record
from apps.assessment.tasks import turns_to_read
from apps.interviews.group import GROUP
from apps.interviews.models import Interview, Turn, Utterance
from apps.interviews.services.live import ANALYSE, CORRECT
from apps.ops.jobs import job_enqueue
from apps.ops.models import Job
from apps.ops.tasks import run_job
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.assessment import QuestionSpec
from inference.ports import Engines, Priority, Speech, Transcript
from inference.transcription import Missing
from tests.assessment import rows

pytestmark = pytest.mark.django_db(transaction=True)

IN_TIME, LATE = "I cached the catalogue.", "Latency fell by forty percent."
SAID = {0x20: IN_TIME, 0x30: LATE}
Wav = Callable[[str, bytes], str]


def sound(level: int, seconds: float) -> bytes:
    return bytes([0, level]) * round(seconds * 16_000)


FIRST_PART = sound(0, 0.5) + sound(0x20, 2) + sound(0, 1)
WHOLE = FIRST_PART + sound(0x30, 2) + sound(0, 1)


class _ByLoudness(ScriptedRecognizer):
    """Says the sentence that belongs to how loud the audio is."""

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        self._script = [SAID[max(speech.pcm[1::2])]]
        return await super().transcribe(speech, priority)


@pytest.fixture(autouse=True)
def hears(redis: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_model = Engines(LoudnessDetector(), _ByLoudness(""), None)
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: with_model)


def closed_early(wav: Wav) -> Turn:
    """An answer whose first part was heard live, scored, and whose rest is still to come."""
    interview = rows.interview(questions=1)
    turn = rows.turn(
        interview, 1, transcript=IN_TIME, audio_path=wav("a.wav", FIRST_PART), audio_s=3.5,
        audio_complete=False, low_confidence=True, sha256="1" * 64,
    )  # fmt: skip
    rows.utterance(turn, IN_TIME, start_s=0.4)
    score_record(turn=turn, assessment=rows.assessed(3.0), words=(), stage="live")
    report_rebuild(interview=interview)
    return turn


def audio_comes(turn: Turn, wav: Wav, missing: Sequence[dict[str, object]] = ()) -> None:
    """The rest of it: the recording is another one, and its correction is ordered."""
    wav("a.wav", WHOLE)
    changes = {"audio_complete": True, "audio_s": 6.5, "late_s": 3.0, "sha256": "2" * 64}
    Turn.objects.filter(pk=turn.pk).update(**changes, missing=list(missing))
    job_enqueue(organisation_id=turn.interview.organisation_id, kind=CORRECT, subject_id=turn.pk)
    turn.refresh_from_db()


def run(kind: str, subject_id: int, owner: int) -> Job:
    job = job_enqueue(organisation_id=owner, kind=kind, subject_id=subject_id)
    run_job(job.pk)
    job.refresh_from_db()
    return job


def corrected(turn: Turn) -> Job:
    return run(CORRECT, turn.pk, turn.interview.organisation_id)


def analysed(turn: Turn) -> Job:
    return run(ANALYSE, turn.interview_id, turn.interview.organisation_id)


def test_words_and_score_are_corrected_and_what_was_shown_is_kept_beside_them(wav: Wav) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    assert corrected(turn).status == "done"
    turn.refresh_from_db()
    assert turn.transcript == f"{IN_TIME} {LATE}"
    assert (turn.status, turn.low_confidence) == ("answered", False)
    assert turn.speech_s == pytest.approx(4.0, abs=0.8)
    kept = Correction.objects.get()
    assert (kept.transcript_before, kept.transcript_after) == (IN_TIME, turn.transcript)
    deep = Score.objects.get(stage="deep")
    assert (kept.value_before, kept.value_after, kept.late_s) == (Decimal("3.0"), deep.value, 3.0)
    assert Report.objects.get().mean == deep.value
    event = turn.interview.events.get()
    assert (event.type, event.payload["turn"], event.payload["late_s"]) == ("answer.corrected", 1, 3.0)
    assert {row.text for row in Utterance.objects.filter(decode="full")} == {IN_TIME, LATE}
    assert [row.text for row in Utterance.objects.filter(decode="live")] == [IN_TIME]


def test_the_analysis_of_an_answer_that_was_left_hears_what_came_behind_its_last_final(wav: Wav) -> None:
    turn = closed_early(wav)
    wav("a.wav", WHOLE)
    Turn.objects.filter(pk=turn.pk).update(end_reason="expired", audio_s=6.5)
    assert analysed(turn).status == "done"
    turn.refresh_from_db()
    assert [row.text for row in Utterance.objects.filter(decode="full")] == [IN_TIME, LATE]
    assert Score.objects.get(stage="deep").low_confidence


def test_a_second_run_hears_nothing_and_tells_no_second_event(
    wav: Wav, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    job = corrected(turn)
    Job.objects.filter(pk=job.pk).update(status="queued")
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: Engines(None, None, None))
    assert corrected(turn).status == "done"
    assert (Correction.objects.count(), turn.interview.events.count()) == (1, 1)


def test_a_run_that_lost_its_lease_writes_nothing(wav: Wav, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    read = reader.Reader.read

    def read_while_another_takes_over(*args: Any) -> Any:
        found = read(*args)
        Job.objects.update(fence=99)
        return found

    monkeypatch.setattr(reader.Reader, "read", read_while_another_takes_over)
    assert corrected(turn).status == "running"
    assert not Correction.objects.exists()
    assert not turn.interview.events.exists()
    assert list(Score.objects.values_list("stage", flat=True)) == ["live"]


def outcome(turn: Turn) -> dict[str, object]:
    """Everything that people see of the answer and the interview."""
    turn.refresh_from_db()
    spoken = turn.utterances.order_by("decode", "number")
    return {
        "turn": (turn.transcript, turn.status, turn.low_confidence, round(turn.speech_s, 3)),
        "utterances": list(spoken.values_list("decode", "number", "text", "start_s", "end_s")),
        "scores": list(turn.scores.order_by("stage").values_list("stage", "value", "weakness")),
        "corrections": list(turn.corrections.values_list("transcript_before", "transcript_after",
                                                         "value_before", "value_after")),
        "report": Report.objects.values_list("status", "mean", "answered").get(interview=turn.interview),
        "events": sorted(turn.interview.events.values_list("type", flat=True)),
    }  # fmt: skip


def test_the_result_does_not_depend_on_when_the_analysis_ran(wav: Wav) -> None:
    outcomes = []
    for order in (
        "analysis, audio, correction",
        "audio, correction, analysis",
        "audio, analysis, correction",
    ):
        turn = closed_early(wav)
        steps: dict[str, Callable[[], object]] = {
            "analysis": lambda turn=turn: analysed(turn),  # type: ignore[misc]
            "audio": lambda turn=turn: audio_comes(turn, wav),  # type: ignore[misc]
            "correction": lambda turn=turn: corrected(turn),  # type: ignore[misc]
        }
        for name in order.split(", "):
            steps[name]()
        outcomes.append(outcome(turn))
    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert outcomes[0]["report"][0] == "final"  # type: ignore[index]


def test_the_analysis_leaves_an_answer_with_late_audio_to_its_correction(wav: Wav) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    assert turns_to_read(turn.interview) == []


def test_a_typed_answer_stays_what_was_typed(wav: Wav) -> None:
    turn = closed_early(wav)
    Turn.objects.filter(pk=turn.pk).update(input="text", transcript="I typed this instead.")
    audio_comes(turn, wav)
    assert corrected(turn).status == "done"
    kept = Correction.objects.get()
    assert kept.transcript_before == kept.transcript_after == "I typed this instead."


def test_an_incomplete_answer_is_analysed_all_the_same_and_a_person_should_look(wav: Wav) -> None:
    turn = closed_early(wav)
    assert turns_to_read(turn.interview) == [turn]
    assert analysed(turn).status == "done"
    turn.refresh_from_db()
    assert (turn.transcript, turn.low_confidence) == (IN_TIME, True)
    assert Score.objects.filter(stage="deep").exists()


def test_a_reading_that_was_under_way_when_the_audio_came_is_left_to_the_correction(
    wav: Wav, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = closed_early(wav)
    read = reader.Reader.read

    def read_while_audio_comes(*args: Any) -> Any:
        found = read(*args)
        audio_comes(turn, wav)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(reader.Reader, "read", read_while_audio_comes)
        assert analysed(turn).status == "done"
    assert not Score.objects.filter(stage="deep").exists()
    corrected(turn)
    assert Report.objects.get().status == "final"
    assert Score.objects.filter(stage="deep").exists()


def test_without_a_recogniser_what_was_shown_stays_and_it_is_said(
    wav: Wav, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: Engines(None, None, None))
    turn = closed_early(wav)
    audio_comes(turn, wav)
    for _ in range(3):
        job = corrected(turn)
    assert (job.status, job.reason) == ("dead", "EngineUnavailable")
    turn.refresh_from_db()
    assert turn.transcript == IN_TIME
    assert late_audio_of([turn])[turn.pk].state == "failed"
    assert not Correction.objects.exists()


def test_late_audio_without_words_leaves_what_was_judged(wav: Wav, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    monkeypatch.setitem(SAID, 0x30, "")
    corrected(turn)
    kept = Correction.objects.get()
    assert kept.transcript_before == kept.transcript_after == IN_TIME


def test_an_answer_that_was_not_heard_at_all_gets_its_score_from_the_late_audio(wav: Wav) -> None:
    interview = rows.interview(questions=1)
    turn = rows.turn(interview, 1, transcript="", status="unscored", audio_path="a.wav")
    audio_comes(turn, wav)
    corrected(turn)
    turn.refresh_from_db()
    assert turn.status == "answered"
    kept = Correction.objects.get()
    assert (kept.value_before, kept.transcript_before) == (None, "")
    assert kept.value_after is not None
    assert not Report.objects.exists()  # nothing was summed up yet


def test_words_are_not_joined_across_audio_that_is_missing(wav: Wav) -> None:
    turn = closed_early(wav)
    hole = {"at_s": 4.5, "seconds": 3.2, "why": "lost"}
    audio_comes(turn, wav, [hole])
    corrected(turn)
    full = list(Utterance.objects.filter(decode="full").values_list("end_s", "start_s"))
    assert len(full) == 3
    assert full[1][0] == full[2][1] == 4.5
    turn.refresh_from_db()
    assert turn.low_confidence


def test_the_open_page_is_told(wav: Wav) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    interview, layer = turn.interview.public_id.hex, get_channel_layer()
    assert layer is not None

    def in_a_worker() -> None:
        corrected(turn)
        connection.close()  # the thread's own

    async def listen() -> dict[str, object]:
        await layer.group_add(GROUP, interview)
        await asyncio.to_thread(in_a_worker)
        message = await asyncio.wait_for(layer.receive(interview), 30)
        told: dict[str, object] = message["messages"][interview]
        return told

    told = asyncio.run(listen())
    assert (told["type"], told["turn"], told["late_s"]) == ("interview.corrected", 1, 3.0)


def test_an_interview_deleted_meanwhile_ends_the_job_quietly(wav: Wav) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    job = Job.objects.get(kind=CORRECT)
    Interview.objects.all().delete()
    run_job(job.pk)
    job.refresh_from_db()
    assert job.status == "done"


def test_an_interview_deleted_while_it_is_heard_ends_the_job_quietly(
    wav: Wav, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = closed_early(wav)
    audio_comes(turn, wav)
    read = reader.Reader.read

    def read_while_it_is_erased(*args: Any) -> Any:
        found = read(*args)
        Interview.objects.all().delete()
        return found

    monkeypatch.setattr(reader.Reader, "read", read_while_it_is_erased)
    assert corrected(turn).status == "done"


def test_a_long_recording_is_searched_for_speech_step_by_step(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "SEARCH_S", 1.0)
    steps: list[int] = []
    question = QuestionSpec(rows.QUESTION, "en", "behavioural")
    hole = Missing(4.5, 1.0, "lost")
    given = GivenAnswer(1, question, "", pcm=WHOLE, late=True, missing=(hole,))
    with_model = Engines(LoudnessDetector(), _ByLoudness(""), None)
    reading = asyncio.run(read_again(with_model, given, next_step=lambda: steps.append(1)))
    assert len(reading.decoded) == 3
    assert len(steps) == 1 + 7 + 3  # the start, each second before and after the hole, each decode
