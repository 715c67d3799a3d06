"""Audio that comes after its turn was closed: kept, committed, and ordered to be heard again."""

from __future__ import annotations

import hashlib
import wave
from pathlib import Path

import pytest
from django.test import override_settings

from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import LateAudio, late_audio_record
from apps.interviews.services.seats import Seat
from apps.ops.models import Job
from apps.privacy.services import interview_delete
from tests.live.stack import Page, Person, Server, wait_until
from tests.live.wire import numbered_pcm, silence, speech

SAID = speech(1.0) + silence(3.0)
MORE = numbered_pcm(8, first=900)


def turn_of(person: Person, number: int = 1) -> Turn:
    return Turn.objects.get(interview=person.interview, number=number)


def spool_of(server: Server, person: Person, number: int = 1) -> Path:
    return server.folder / "spool" / person.interview.public_id.hex / f"{number:04d}.spool"


def kept_pcm(server: Server, turn: Turn) -> bytes:
    with wave.open(str(server.folder / "media" / turn.audio_path)) as wav:
        return bytes(wav.readframes(wav.getnframes()))


def corrections(turn: Turn) -> int:
    return Job.objects.filter(kind="correct_answer", subject_id=turn.pk).count()


def closed_early(page: Page, number: int = 1) -> None:
    """An answer that silence ended, without the page's last word."""
    page.until("answer.opened", turn=number)
    page.sent = 0
    page.stream(SAID, answer=number)
    page.until("turn.ended", turn=number)


def test_the_rest_of_an_answer_comes_beside_the_next_one(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        page.hello()
        closed_early(page)
        page.until("answer.opened", turn=2)
        early = turn_of(person)
        assert (early.status, early.audio_complete) == ("answered", False)
        assert kept_pcm(server, early) == SAID
        page.stream(MORE)
        page.acked(47)
        assert "committed" not in page.types()
        page.end(SAID + MORE)
        assert page.until("committed")["sha256"] == hashlib.sha256(SAID + MORE).hexdigest()
        page.stream(speech(0.5), answer=2)
        page.acked(4, answer=2)
    late = turn_of(person)
    assert (late.audio_complete, late.late_s, late.last_seq) == (True, 0.8, 47)
    assert (kept_pcm(server, late), round(late.audio_s, 3)) == (SAID + MORE, 4.8)
    assert (corrections(late), late.transcript) == (1, early.transcript)
    assert not spool_of(server, person).exists()


def test_a_page_that_comes_back_is_asked_for_the_rest(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        epoch = page.hello()["epoch"]
        closed_early(page)
        page.until("answer.opened", turn=2)
    with Page(server, person) as page:
        welcome = page.hello()
        [late] = welcome["late"]
        assert (late["answer"], late["epoch"], late["next"], late["window"] > 0) == (1, epoch, 40, True)
        assert welcome["answer"] == 2
        page.frame(numbered_pcm(1), seq=43)
        assert page.until("nack", answer=1)["from"] == 40
        page.say(type="gap", answer=1, **{"from": 40, "to": 43, "why": "full"})
        page.frame(numbered_pcm(1), seq=43)
        page.say(type="end", answer=1, last_seq=43)
        page.until("audio.missing", turn=1)
        page.until("committed", answer=1)
    late = turn_of(person)
    assert late.missing == [{"at_s": 4.0, "seconds": 0.3, "why": "full"}]
    assert (late.low_confidence, corrections(late)) == (True, 1)


def test_an_end_before_its_late_frames_waits_for_them(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        page.hello()
        closed_early(page)
        page.until("answer.opened", turn=2)
        page.say(type="end", answer=1, last_seq=41)
        assert page.until("nack", answer=1)["from"] == 40
        page.stream(MORE)  # six more than the answer has
        page.until("committed", answer=1)
    assert turn_of(person).audio_s == pytest.approx(4.2)


def test_a_finished_interview_takes_its_late_audio_and_nothing_else(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        closed_early(page)
        page.until("session.ended")
    for _ in range(2):
        with Page(server, person) as page:
            welcome = page.hello()
            assert (welcome["snapshot"]["status"], welcome["answer"]) == ("finished", 0)
            assert [late["next"] for late in welcome["late"]] == [40]
    with Page(server, person) as page:
        page.hello()
        page.sent = 40
        page.stream(MORE)
        page.say(type="end", answer=1, last_seq=47)
        page.until("committed", answer=1)
        assert page.of("session.ended") == page.of("session.ended")[:1]
    with Page(server, person) as page:
        assert page.hello()["late"] == []
    turn = turn_of(person)
    assert (turn.audio_complete, corrections(turn)) == (True, 1)
    assert Job.objects.filter(kind="analyse_interview", subject_id=person.interview.pk).count() == 1


def test_a_page_that_kept_nothing_more_completes_the_answer_without_a_job(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        closed_early(page)
        page.until("session.ended")
    sha256 = turn_of(person).sha256
    with Page(server, person) as page:
        [late] = page.hello()["late"]
        page.say(type="end", answer=1, last_seq=late["next"] - 1)
        assert page.until("committed")["sha256"] == sha256
    turn = turn_of(person)
    assert (turn.audio_complete, turn.late_s, corrections(turn)) == (True, 0.0, 0)
    wait_until(lambda: not spool_of(server, person).exists())


def test_a_lost_spool_takes_nothing_from_what_was_kept(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        epoch = page.hello()["epoch"]
        closed_early(page)
        page.until("session.ended")
    spool_of(server, person).unlink()
    with Page(server, person) as page:
        [late] = page.hello()["late"]
        assert (late["next"], late["epoch"] != epoch) == (0, True)
        page.sent = 0
        page.stream(MORE[:16_000])  # all that the page still had
        page.say(type="end", answer=1, last_seq=4)
        page.until("committed")
    turn = turn_of(person)
    assert (turn.audio_complete, turn.last_seq, kept_pcm(server, turn)) == (True, 39, SAID)


def test_a_skipped_or_typed_answer_is_complete_at_once(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(0.5))
        page.acked(4)
        page.say(type="skip", answer=1)
        page.until("committed", answer=1)
        page.until("answer.opened", turn=2)
        page.say(type="text_answer", answer=2, text="It was written down, not said.")
        page.until("committed", answer=2)
        page.until("session.ended")
    assert all(turn.audio_complete for turn in person.interview.turns.all())


def test_late_audio_said_twice_is_recorded_once(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        generation = page.hello()["gen"]
        closed_early(page)
        page.until("session.ended")
    seat = Seat(person.interview.pk, generation)
    late = LateAudio(1, audio_path="a.wav", audio_s=9.0, sha256="f" * 64, last_seq=89)
    once = late_audio_record(seat=seat, late=late)
    again = late_audio_record(seat=seat, late=LateAudio(1, audio_path="b.wav", audio_s=20.0, sha256="e" * 64))
    turn = turn_of(person)
    assert (once.sha256, again.sha256, turn.audio_path) == ("f" * 64, "f" * 64, "a.wav")
    assert (turn.late_s, corrections(turn)) == (5.0, 1)


def test_erasing_takes_the_kept_spool_and_its_job_and_no_socket_brings_them_back(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        closed_early(page)
        page.until("session.ended")
        page.stream(MORE)
        page.acked(47)
        wait_until(lambda: not turn_of(person).audio_complete)
        turn = turn_of(person)
        Job.objects.create(
            organisation_id=person.interview.organisation_id, kind="correct_answer", subject_id=turn.pk
        )
        erase(server, person)
        page.say(type="end", answer=1, last_seq=47)
        assert page.close_code() == 4403
    assert not spool_of(server, person).parent.exists()
    assert not list((server.folder / "media").rglob(f"*{person.interview.public_id.hex}*/*"))
    assert corrections(turn) == 0


def erase(server: Server, person: Person) -> None:
    """As another process of the site would."""
    with override_settings(MEDIA_ROOT=server.folder / "media", SPOOL_DIR=server.folder / "spool"):
        interview_delete(interview=Interview.objects.get(pk=person.interview.pk))
