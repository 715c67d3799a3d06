"""The second reading: cut where the live session cut, decoded again, judged again, stored once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from channels.layers import get_channel_layer
from django.db import connection
from pytest_django import Settings

import apps.assessment.tasks  # noqa: F401 - registers the kinds of jobs
from apps.assessment import reader
from apps.assessment.analysis import GivenAnswer, cuts_of, read_again
from apps.assessment.kept_answers import heard_utterance
from apps.assessment.models import Report, Score
from apps.assessment.services import deep_reading_record, report_rebuild, score_record
from apps.interviews.group import GROUP
from apps.interviews.models import Interview, Turn, Utterance
from apps.interviews.services.live import ANALYSE
from apps.ops.job_kinds import _KINDS
from apps.ops.jobs import job_enqueue
from apps.ops.models import Job
from apps.ops.steps import Step
from apps.ops.tasks import run_job
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.assessment import QuestionSpec
from inference.ports import Engines, EngineUnavailable, Priority, Speech, Transcript
from inference.transcription import HeardUtterance
from tests.assessment import rows

SECOND = 32_000  # bytes of PCM16 at 16 kHz
LOUD_MIDDLE = bytes(SECOND) + (b"\x00\x40" * 16_000) * 2 + bytes(2 * SECOND)
QUESTION = QuestionSpec(rows.QUESTION, "en", "behavioural")


def heard(number: int, text: str, start_s: float, end_s: float, *, unsure: bool = False) -> HeardUtterance:
    return HeardUtterance(number, Transcript(text, "en", low_confidence=unsure), start_s, end_s)


def engines(*script: str | EngineUnavailable, delay_s: float = 0.0) -> Engines:
    return Engines(LoudnessDetector(), ScriptedRecognizer(*script, delay_s=delay_s), None)


def read(with_engines: Engines, given: GivenAnswer) -> Any:
    return asyncio.run(read_again(with_engines, given))


def test_cuts_take_a_margin_and_never_reach_into_the_neighbour() -> None:
    live = (heard(1, "a", 0.1, 2.0), heard(2, "b", 2.1, 4.0), heard(3, "c", 8.0, 9.9))
    cuts = cuts_of(GivenAnswer(1, QUESTION, "a b c", live, bytes(10 * SECOND)))
    assert [(round(cut.start_s, 2), round(cut.end_s, 2)) for cut in cuts] == [
        (0.05, 2.05),
        (2.05, 4.2),
        (7.8, 9.95),
    ]


def test_a_cut_past_the_end_of_the_recording_is_left_out() -> None:
    given = GivenAnswer(
        1, QUESTION, "a", (heard(1, "a", 0.0, 1.0), heard(2, "b", 3.0, 4.0)), bytes(2 * SECOND)
    )
    assert [cut.number for cut in cuts_of(given)] == [1]


def test_utterances_are_decoded_with_low_priority_and_put_back_in_order() -> None:
    live = (heard(1, "short", 0.0, 1.0), heard(2, "long", 1.5, 4.0))
    with_engines = engines("the longer one.", "the short one,")
    reading = read(with_engines, GivenAnswer(1, QUESTION, "x", live, bytes(5 * SECOND)))
    assert reading.transcript == "the short one, the longer one."
    assert isinstance(with_engines.recognizer, ScriptedRecognizer)
    assert {priority for priority, _ in with_engines.recognizer.asked} == {Priority.ANALYSIS}
    assert reading.words[-1].end_s == pytest.approx(4.2)


def test_an_unsure_second_decode_does_not_replace_sure_live_words() -> None:
    live = (heard(1, "I cached the catalogue.", 0.0, 3.0), heard(2, "And it hell.", 3.5, 4.5))
    reading = read(engines("", "And it held."), GivenAnswer(1, QUESTION, "x", live, bytes(5 * SECOND)))
    assert reading.transcript == "I cached the catalogue. And it held."
    assert reading.decoded[0].transcript.text == ""


def test_names_are_put_right_in_the_second_reading_too() -> None:
    given = GivenAnswer(
        1,
        replace(QUESTION, terms=("Redis",)),
        "x",
        (heard(1, "We ran riddies.", 0.0, 2.0),),
        bytes(5 * SECOND),
        subject="Senior Django engineer",
    )
    reading = read(engines("We ran riddies in Jango."), given)
    assert reading.transcript == "We ran Redis in Django."
    [decoded] = reading.decoded
    assert decoded.transcript.raw == "We ran riddies in Jango."
    assert [word.heard for word in reading.words if word.heard] == ["riddies", "Jango."]


@pytest.mark.django_db
def test_what_the_second_decode_wrote_is_kept_beside_what_it_means() -> None:
    turn = rows.turn(rows.interview())
    given = GivenAnswer(
        1, replace(QUESTION, terms=("Redis",)), "x", (heard(1, "x", 0.0, 2.0),), bytes(SECOND)
    )
    deep_reading_record(turn=turn, reading=read(engines("I moved it to riddies."), given))
    row = turn.utterances.get(decode="full")
    assert (row.text, row.raw_text) == ("I moved it to Redis.", "I moved it to riddies.")
    assert row.words[-1]["heard"] == "riddies."
    kept = heard_utterance(row, "en").transcript
    assert (kept.raw, kept.words[-1].heard) == (row.raw_text, "riddies.")


def test_where_the_live_session_was_deaf_speech_is_found_in_the_recording() -> None:
    loud = (b"\x00\x40" * 16_000) * 2
    pcm = bytes(SECOND) + loud + bytes(2 * SECOND)
    reading = read(engines(rows.ANSWER), GivenAnswer(1, QUESTION, "", (), pcm))
    assert reading.transcript == rows.ANSWER
    assert 0.5 < reading.decoded[0].start_s < 1.1
    assert reading.assessment.score is not None


def test_without_a_model_the_live_words_are_judged_again() -> None:
    given = GivenAnswer(1, QUESTION, rows.ANSWER, (heard(1, rows.ANSWER, 0, 2),), bytes(2 * SECOND))
    reading = read(Engines(None, None, None), given)
    assert (reading.decoded, reading.transcript) == ((), rows.ANSWER)
    assert reading.assessment.score is not None


def test_an_answer_half_heard_live_is_cut_anew_over_its_whole_recording() -> None:
    loud = (b"\x00\x40" * 16_000) * 2
    pcm = loud + bytes(2 * SECOND) + loud + bytes(2 * SECOND)
    given = GivenAnswer(1, QUESTION, "I cached", (heard(1, "I cached", 0, 2),), pcm, unheard=True)
    reading = read(engines("I cached the catalogue.", "Latency fell by forty percent."), given)
    assert [one.number for one in reading.decoded] == [1, 2]
    assert reading.assessment.score is not None


def test_an_answer_half_heard_live_is_not_scored_on_that_half_where_nobody_hears_it_again() -> None:
    given = GivenAnswer(
        1, QUESTION, rows.ANSWER, (heard(1, rows.ANSWER, 0, 2),), bytes(2 * SECOND), unheard=True
    )
    assert read(Engines(None, None, None), given).assessment is None
    assert read(engines(rows.ANSWER), given).assessment is None  # its recording is silence


def test_silence_is_never_scored() -> None:
    reading = read(engines(""), GivenAnswer(1, QUESTION, "", (), bytes(2 * SECOND)))
    assert (reading.transcript, reading.assessment) == ("", None)


# ---- the job, over rows ----

pytest_db = pytest.mark.django_db(transaction=True)


def no_model(settings: Settings) -> None:
    settings.MODELS_DIR = Path(settings.VAR_DIR) / "empty"


def analysed(interview: Interview) -> Job:
    job = job_enqueue(organisation_id=interview.organisation_id, kind=ANALYSE, subject_id=interview.pk)
    run_job(job.pk)
    job.refresh_from_db()
    return job


def interview_with(text: str = rows.ANSWER, **fields: object) -> tuple[Interview, Turn]:
    interview = rows.interview(questions=1)
    turn = rows.turn(interview, 1, transcript=text, **fields)
    score_record(turn=turn, assessment=rows.assessed(3.0), words=(), stage="live")
    report_rebuild(interview=interview)
    return interview, turn


@pytest_db
def test_a_typed_answer_gets_a_deep_score_and_the_report_is_final(redis: str, settings: Settings) -> None:
    no_model(settings)
    interview, turn = interview_with(input="text")
    assert analysed(interview).status == "done"
    deep = Score.objects.get(turn=turn, stage="deep")
    report = Report.objects.get()
    assert (report.status, report.mean) == ("final", deep.value)
    assert [event.type for event in interview.events.all()] == ["analysis.ready"]


@pytest_db
def test_the_open_page_is_told(redis: str, settings: Settings) -> None:
    no_model(settings)
    interview, _ = interview_with(input="text")
    layer = get_channel_layer()
    assert layer is not None

    def in_a_worker() -> None:
        analysed(interview)
        connection.close()  # the thread's own

    async def listen() -> dict[str, object]:
        await layer.group_add(GROUP, interview.public_id.hex)
        await asyncio.to_thread(in_a_worker)
        message = await asyncio.wait_for(layer.receive(interview.public_id.hex), 30)
        told: dict[str, object] = message["messages"][interview.public_id.hex]
        return told

    assert asyncio.run(listen())["type"] == "interview.analysis"


@pytest_db
def test_a_lost_broker_does_not_lose_the_result(settings: Settings) -> None:
    no_model(settings)
    host = {"address": "redis://127.0.0.1:1/1", "socket_timeout": None}
    backend = "channels_redis.core.RedisChannelLayer"
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": backend, "CONFIG": {"hosts": [host]}}}
    interview, _ = interview_with(input="text")
    assert analysed(interview).status == "done"
    assert Report.objects.get().status == "final"


@pytest_db
def test_without_the_language_model_the_rules_judge_and_say_so(redis: str, settings: Settings) -> None:
    no_model(settings)
    settings.LLM_URLS = ("http://127.0.0.1:1/v1",)
    interview, turn = interview_with(input="text")
    assert analysed(interview).status == "done"
    assert Score.objects.get(turn=turn, stage="deep").source == "rules"


@pytest_db
def test_a_second_run_changes_nothing_and_announces_nothing(redis: str, settings: Settings) -> None:
    no_model(settings)
    interview, turn = interview_with(input="text")
    job = analysed(interview)
    Score.objects.filter(turn=turn, stage="deep").update(weakness="as it was")
    Job.objects.filter(pk=job.pk).update(status="queued")
    assert analysed(interview).status == "done"
    assert Score.objects.get(turn=turn, stage="deep").weakness == "as it was"
    assert interview.events.count() == 1


@pytest_db
def test_a_run_that_lost_its_lease_writes_nothing(
    redis: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_model(settings)
    interview, _ = interview_with(input="text")
    read_turn = reader.Reader.read

    def read_while_another_takes_over(*args: Any) -> Any:
        reading = read_turn(*args)
        Job.objects.update(fence=99)
        return reading

    monkeypatch.setattr(reader.Reader, "read", read_while_another_takes_over)
    assert analysed(interview).status == "running"
    assert list(Score.objects.values_list("stage", flat=True)) == ["live"]
    assert Report.objects.get().status == "live"


@pytest_db
def test_an_answer_heard_again_replaces_the_words_and_keeps_the_live_ones(
    redis: str, wav: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: engines(rows.ANSWER))
    interview, turn = interview_with(
        "I cashed the cattle log.", audio_path=wav("a.wav", bytes(5 * SECOND)), audio_s=5.0
    )
    rows.utterance(turn, "I cashed the cattle log.")
    assert analysed(interview).status == "done"
    turn.refresh_from_db()
    assert turn.transcript == rows.ANSWER
    texts = {row.decode: row.text for row in Utterance.objects.all()}
    assert texts == {"live": "I cashed the cattle log.", "full": rows.ANSWER}
    quotes = [quote for part in turn.scores.get(stage="deep").evidence.all() for quote in part.quotes]
    assert quotes
    assert all(quote["start_s"] is not None and quote["text"] in rows.ANSWER for quote in quotes)


@pytest_db
def test_an_answer_that_no_engine_heard_live_is_scored_afterwards(
    redis: str, wav: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: engines(rows.ANSWER))
    interview = rows.interview(questions=1)
    turn = rows.turn(interview, 1, transcript="", status="unscored", audio_path=wav("a.wav", LOUD_MIDDLE))
    Utterance.objects.create(turn=turn, number=1, text="", start_s=1, end_s=4, low_confidence=True)
    analysed(interview)
    turn.refresh_from_db()
    assert (turn.status, turn.transcript) == ("answered", rows.ANSWER)
    assert Report.objects.get().answered == 1


@pytest_db
def test_a_skipped_question_is_not_judged(redis: str, settings: Settings) -> None:
    no_model(settings)
    interview = rows.interview(questions=1)
    rows.turn(interview, 1, status="skipped", transcript="")
    assert analysed(interview).status == "done"
    assert not Score.objects.exists()
    assert Report.objects.get().mean is None


@pytest_db
def test_over_a_step_s_limit_the_live_report_stays_with_its_reason(
    redis: str, wav: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: engines(rows.ANSWER, delay_s=60))
    monkeypatch.setitem(_KINDS, ANALYSE, replace(_KINDS[ANALYSE], step_s=0.5))
    interview, turn = interview_with(audio_path=wav("a.wav", bytes(5 * SECOND)), audio_s=5.0)
    rows.utterance(turn, rows.ANSWER)
    job = analysed(interview)
    assert (job.status, job.reason, job.attempts) == ("timeout", "timeout", 1)
    report = Report.objects.get()
    assert (report.status, report.reason, str(report.mean)) == ("live", "timeout", "3.0")
    assert not Utterance.objects.filter(decode="full").exists()


@pytest_db
def test_each_part_of_an_answer_has_the_whole_limit(
    redis: str, wav: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    steps = partial(Step, clock=lambda: clock[0])
    monkeypatch.setattr("apps.ops.lease_keeper.Step", steps)
    recognizer = ScriptedRecognizer("I cached the catalogue.", "Latency fell by forty percent.")
    decode = recognizer.transcribe

    async def slow(speech: Speech, priority: Priority) -> Transcript:
        clock[0] += 25.0
        return await decode(speech, priority)

    monkeypatch.setattr(recognizer, "transcribe", slow)
    heard_by = Engines(LoudnessDetector(), recognizer, None)
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: heard_by)
    interview, turn = interview_with(audio_path=wav("a.wav", bytes(9 * SECOND)), audio_s=9.0)
    for number in (1, 2):
        turn.utterances.create(number=number, text="live", start_s=4 * number - 3, end_s=4 * number)
    assert analysed(interview).status == "done"
    assert clock[0] == 50.0


@pytest_db
def test_what_took_too_long_is_discarded_although_it_came(
    redis: str, wav: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("apps.ops.lease_keeper.Step", partial(Step, clock=lambda: clock[0]))

    async def slow(*args: Any) -> Any:
        reading = await read_again(*args)
        clock[0] += 31.0
        return reading

    monkeypatch.setattr(reader, "read_again", slow)
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: Engines(None, None, None))
    interview, _ = interview_with(input="text")
    assert analysed(interview).status == "timeout"
    assert list(Score.objects.values_list("stage", flat=True)) == ["live"]


@pytest_db
def test_a_lost_recogniser_is_tried_three_times_and_makes_no_score(
    redis: str, wav: Callable[[str, bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: engines(EngineUnavailable("gone")))
    interview, turn = interview_with(audio_path=wav("a.wav", bytes(5 * SECOND)))
    rows.utterance(turn, rows.ANSWER)
    for _ in range(3):
        job = analysed(interview)
    assert (job.status, job.reason) == ("dead", "EngineUnavailable")
    assert list(Score.objects.values_list("stage", flat=True)) == ["live"]
    assert Report.objects.get().reason == "EngineUnavailable"


@pytest_db
def test_an_interview_deleted_meanwhile_ends_the_job_quietly(redis: str, settings: Settings) -> None:
    no_model(settings)
    interview, _ = interview_with(input="text")
    job = job_enqueue(organisation_id=interview.organisation_id, kind=ANALYSE, subject_id=interview.pk)
    Interview.objects.all().delete()
    run_job(job.pk)
    job.refresh_from_db()
    assert job.status == "done"


@pytest_db
@pytest.mark.parametrize("content", [b"", b"RIFF????WAVE", None])
def test_a_recording_that_cannot_be_read_leaves_the_live_words(
    content: bytes | None, redis: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "build_engines", lambda *_, **__: engines("other words"))
    if content is not None:
        (Path(settings.MEDIA_ROOT) / "a.wav").write_bytes(content)
    interview, turn = interview_with(audio_path="a.wav")
    assert analysed(interview).status == "done"
    turn.refresh_from_db()
    assert turn.transcript == rows.ANSWER
