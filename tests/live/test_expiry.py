"""An interview that nobody came back to: closed once, from its events and its spool, without engines."""

from __future__ import annotations

import asyncio
import hashlib
import time
import wave
from collections.abc import Iterator

import pytest
from django.test import override_settings

from apps.assessment.models import Score
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import event_append, interview_claim, typed_answer_keep
from apps.interviews.services.seats import Seat, Superseded, seat_take
from apps.live.expiry import interview_expired
from apps.live.recorder import expiry_record
from apps.live.rows import in_database
from apps.live.spool import SpoolBusyError
from apps.ops.models import Job
from inference import events as ev
from tests.live.here import Statements, database_threads
from tests.live.stack import ANSWER, WITHIN_S, Page, Person, Server
from tests.live.wire import numbered_pcm, silence, speech

SAID = speech(1.0) + silence(0.8)  # long enough for its final, not for the end of the turn


@pytest.fixture
def left(server: Server) -> Iterator[Server]:
    """This process expires what that server left behind."""
    with override_settings(MEDIA_ROOT=server.folder / "media", SPOOL_DIR=server.folder / "spool"):
        yield server


def turn_of(person: Person) -> Turn:
    return Turn.objects.get(interview=person.interview)


def kept_pcm(server: Server, turn: Turn) -> bytes:
    with wave.open(str(server.folder / "media" / turn.audio_path)) as wav:
        return bytes(wav.readframes(wav.getnframes()))


def expired(interview_id: int, beat: int | None = None) -> bool:
    """As soon as the page's socket has let go of the spool, which may take a busy server a while."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            return interview_expired(interview_id, beat)
        except SpoolBusyError:
            assert time.monotonic() < deadline


def jobs(kind: str, subject_id: int) -> int:
    return Job.objects.filter(kind=kind, subject_id=subject_id).count()


def answered_and_left(server: Server) -> Person:
    person = Person(questions=3)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(SAID)
        page.until("transcript.final")
        page.acked(17)
    return person


def test_what_was_said_is_scored_and_kept_and_the_interview_is_over(left: Server) -> None:
    person = answered_and_left(left)
    assert expired(person.interview.pk)
    turn = turn_of(person)
    assert (turn.status, turn.end_reason, turn.transcript) == ("answered", "expired", ANSWER)
    score = turn.scores.get()
    assert (score.stage, score.source) == (Score.Stage.LIVE, "rules")
    assert [utterance.text for utterance in turn.utterances.all()] == [ANSWER]
    assert (kept_pcm(left, turn), turn.audio_complete) == (SAID, False)
    interview = Interview.objects.get(pk=person.interview.pk)
    assert interview.status == "finished"
    [end] = interview.events.filter(eid=interview.last_eid)
    assert end.payload == {"type": "session.ended", "reason": "expired"}
    assert jobs("analyse_interview", interview.pk) == 1


def test_it_expires_once(left: Server) -> None:
    person = answered_and_left(left)
    assert expired(person.interview.pk)
    generation = Interview.objects.get(pk=person.interview.pk).generation
    assert not expired(person.interview.pk)
    assert not expired(987_654_321)
    assert person.interview.events.filter(type="session.ended").count() == 1
    assert Interview.objects.get(pk=person.interview.pk).generation == generation


def test_two_processes_that_expire_it_at_once_close_it_once(
    left: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = answered_and_left(left)

    async def both() -> list[bool | BaseException]:
        expiring = (in_database(interview_expired, person.interview.pk) for _ in range(2))
        return await asyncio.gather(*expiring, return_exceptions=True)

    with database_threads(monkeypatch, Statements()):
        results = asyncio.run(both())
    # Each may have taken the seat, or kept the spool, from the other: then the next look closes it.
    assert expired(person.interview.pk) is (True not in results)
    assert Interview.objects.get(pk=person.interview.pk).status == "finished"
    assert person.interview.events.filter(type="session.ended").count() == 1
    assert (turn_of(person).scores.count(), jobs("analyse_interview", person.interview.pk)) == (1, 1)


def test_what_the_page_still_holds_may_come_afterwards(left: Server) -> None:
    person = answered_and_left(left)
    expired(person.interview.pk)
    more = numbered_pcm(10, first=700)
    with Page(left, person) as page:
        welcome = page.hello()
        assert (welcome["snapshot"]["status"], [late["next"] for late in welcome["late"]]) == (
            "finished",
            [18],
        )
        assert page.until("session.ended")["reason"] == "expired"
        page.sent = 18
        page.stream(more)
        page.end(SAID + more)
        assert page.until("committed")["sha256"] == hashlib.sha256(SAID + more).hexdigest()
    turn = turn_of(person)
    assert (kept_pcm(left, turn), turn.audio_complete) == (SAID + more, True)
    assert (turn.late_s, jobs("correct_answer", turn.pk)) == (1.0, 1)


def test_a_question_without_an_answer_is_left_not_failed(left: Server) -> None:
    person = Person(questions=2)
    with Page(left, person) as page:
        page.hello()
        page.until("answer.opened")
    assert expired(person.interview.pk)
    turn = turn_of(person)
    assert (turn.status, turn.end_reason, turn.scores.count(), turn.audio_path) == (
        "skipped",
        "expired",
        0,
        "",
    )


def test_an_answer_given_wholly_out_of_reach_still_counts_when_it_comes(left: Server) -> None:
    person = Person(questions=1)
    with Page(left, person) as page:
        page.hello()
        page.until("answer.opened")
    expired(person.interview.pk)
    with Page(left, person) as page:
        assert [late["next"] for late in page.hello()["late"]] == [0]
        page.stream(SAID)
        page.end(SAID)
        page.until("committed")
    turn = turn_of(person)
    assert (turn.status, kept_pcm(left, turn), jobs("correct_answer", turn.pk)) == ("unscored", SAID, 1)


def test_speech_that_no_engine_has_heard_yet_is_left_to_the_analysis(left: Server) -> None:
    person = Person(questions=1)
    with Page(left, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0))
        page.acked(9)
    assert expired(person.interview.pk)
    turn = turn_of(person)
    assert (turn.status, turn.scores.count(), kept_pcm(left, turn)) == ("unscored", 0, speech(1.0))


@pytest.mark.parametrize("guess", [2, 1])
def test_words_that_no_engine_has_heard_are_not_scored(left: Server, guess: int) -> None:
    person = answered_and_left(left)
    interview = Interview.objects.get(pk=person.interview.pk)
    [final] = interview.events.filter(type="transcript.final")
    guessed = ev.EVENT.validate_python(
        final.payload | {"utterance": guess, "text": "Only", "guessed": True}, strict=False
    )
    event_append(seat=Seat(interview.pk, interview.generation), events=[guessed])
    assert expired(interview.pk)
    turn = turn_of(person)
    assert (turn.status, turn.scores.count(), turn.low_confidence) == ("unscored", 0, True)


def test_a_typed_answer_that_was_kept_but_not_judged_is_judged(left: Server) -> None:
    person = answered_and_left(left)
    interview = Interview.objects.get(pk=person.interview.pk)
    seat = Seat(interview.pk, interview.generation)
    typed_answer_keep(seat=seat, number=1, text="And it held for a year.")
    assert expired(person.interview.pk)
    turn = turn_of(person)
    assert (turn.transcript, turn.end_reason) == (f"{ANSWER} And it held for a year.", "text")
    assert (turn.audio_complete, turn.scores.count()) == (True, 1)
    assert not (left.folder / "spool" / interview.public_id.hex).exists()


def test_a_page_that_comes_back_meanwhile_is_stronger(left: Server) -> None:
    person = answered_and_left(left)
    seat = interview_claim(interview_id=person.interview.pk)
    assert seat is not None
    seat_take(interview=Interview.objects.get(pk=person.interview.pk))
    with pytest.raises(Superseded):
        expiry_record(seat=seat)
    assert Interview.objects.get(pk=person.interview.pk).status == "live"


def test_an_interview_whose_beat_went_on_is_left_alone(left: Server) -> None:
    person = answered_and_left(left)
    before = Interview.objects.get(pk=person.interview.pk)
    assert not expired(before.pk, beat=before.beat + 1)
    assert Interview.objects.get(pk=before.pk).generation == before.generation
    assert expired(before.pk, beat=before.beat)
