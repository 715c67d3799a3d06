"""A whole interview over a real socket, against a real web process with scripted engines."""

from __future__ import annotations

import hashlib
import wave
from pathlib import Path

import pytest

from apps.interviews.models import Interview, Turn
from apps.interviews.services.seats import Seat
from apps.live.frames import encode_frame
from apps.live.recorder import Kept, Place, audio_forget
from apps.live.spool import Recording
from apps.ops.models import Job
from tests.live.stack import ANSWER, Page, Person, Server, wait_until
from tests.live.wire import silence, speech

SPOKEN = speech(1.5) + silence(0.5)


def turn_of(person: Person, number: int) -> Turn:
    return Turn.objects.get(interview=person.interview, number=number)


def test_an_answer_is_heard_judged_committed_and_kept(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        welcome = page.hello()
        assert (welcome["next"], welcome["answer"]) == (0, 1)
        assert welcome["snapshot"]["mode"] == "voice"
        page.until("answer.opened")
        page.stream(SPOKEN)
        page.acked(19)
        page.end(SPOKEN)
        committed = page.until("committed")
        page.until("session.ended")
        assert committed == {
            "type": "committed",
            "answer": 1,
            "sha256": hashlib.sha256(SPOKEN).hexdigest(),
        }
        order = [
            t for t in page.types() if t not in {"ack", "heartbeat", "transcript.partial", "feedback.delta"}
        ]
        assert order[:4] == ["welcome", "session.ready", "question.asked", "answer.opened"]
        assert order[-1] == "session.ended"
        assert page.of("transcript.final")[-1]["text"] == ANSWER
        assert page.of("feedback.done")[-1]["outcome"] == "complete"
    turn = turn_of(person, 1)
    assert (turn.status, turn.end_reason, turn.transcript) == ("answered", "done", ANSWER)
    assert turn.sha256 == committed["sha256"]
    assert turn.last_seq == 19
    [utterance] = turn.utterances.all()
    assert utterance.text == ANSWER
    score = turn.scores.get()
    assert float(score.value) == page.of("feedback.score")[-1]["value"]
    assert score.rev == page.of("feedback.score")[-1]["rev"]
    with wave.open(str(server.folder / "media" / turn.audio_path)) as wav:
        assert wav.readframes(wav.getnframes()) == SPOKEN
    assert not (server.folder / "spool" / person.interview.public_id.hex).exists()
    interview = Interview.objects.get(pk=person.interview.pk)
    assert interview.status == "finished"
    assert Job.objects.get(subject_id=interview.pk).kind == "analyse_interview"


def test_a_typed_answer_is_judged_and_asks_its_follow_up(server: Server) -> None:
    person = Person(questions=1, follow_ups=True)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(type="input", mode="text")
        page.say(type="text_answer", answer=1, text=ANSWER)
        follow_up = page.until("question.follow_up")
        asked = page.until("question.asked", turn=2)
        assert (asked["kind"], asked["text"], asked["number"]) == ("follow_up", follow_up["text"], 1)
        page.until("answer.opened", turn=2)
        page.say(type="text_answer", answer=2, text="It held for a year, with no lost order since.")
        page.until("session.ended")
    first, second = turn_of(person, 1), turn_of(person, 2)
    assert (first.status, first.input, first.transcript, first.audio_path) == ("answered", "text", ANSWER, "")
    assert second.question_text == follow_up["text"]
    assert second.scores.count() == 1


def test_a_typed_answer_after_silence_ended_the_turn_is_refused_and_writes_nothing(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0) + silence(3.0))
        assert page.until("turn.ended")["reason"] == "silence"
        page.say(type="text_answer", answer=1, text="Something else, typed too late.")
        assert page.until("problem")["code"] == "too_late"
        assert "committed" not in page.types()  # refused while the turn still waits for its `end`
        assert turn_of(person, 1).input == "voice"
        page.until("session.ended")
    turn = turn_of(person, 1)
    assert (turn.input, turn.transcript, turn.end_reason) == ("voice", ANSWER, "silence")


def test_of_two_typed_answers_the_first_counts_in_row_and_score(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(SPOKEN)
        page.acked(19)
        page.say(type="text_answer", answer=1, text=ANSWER)
        page.say(type="text_answer", answer=1, text="bananas and nothing else at all")
        assert page.until("problem")["code"] == "too_late"
        page.until("session.ended")
    turn = turn_of(person, 1)
    assert (turn.input, turn.transcript) == ("text", f"{ANSWER} {ANSWER}")
    assert float(turn.scores.get().value) == page.of("feedback.score")[-1]["value"]


def test_an_accepted_text_said_again_is_no_second_answer_and_no_problem(server: Server) -> None:
    person = Person(questions=2)
    again = {"type": "text_answer", "answer": 1, "text": f"{ANSWER} "}
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(**again)
        page.say(**again)
        page.until("answer.opened", turn=2)
    with Page(server, person) as page:  # a page that missed how the turn ended
        page.hello()
        page.say(**again)
        page.say(type="text_answer", answer=1, text="bananas")
        page.until("problem", code="too_late")
        page.say(type="text_answer", answer=3, text="of a question not asked yet")
        page.until("problem", code="too_late")
        assert len(page.of("problem")) == 2
    assert turn_of(person, 1).transcript == ANSWER
    assert not Turn.objects.filter(interview=person.interview, number=2).exclude(transcript="").exists()


def test_a_skipped_question_has_no_score_and_no_follow_up(server: Server) -> None:
    person = Person(questions=2, follow_ups=True)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(type="skip", answer=1)
        assert page.until("question.asked", turn=2)["number"] == 2
        page.say(type="skip", answer=1)  # a second click on what is over changes nothing
        page.say(type="thinking", answer=2)
        page.say(type="skip", answer=2)
        page.until("session.ended")
    assert [(t.status, t.scores.count()) for t in person.interview.turns.all()] == [("skipped", 0)] * 2


def test_a_turn_given_up_before_its_last_frames_has_no_checksum_to_compare(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened", turn=1)
        page.stream(silence(0.5))
        page.say(type="end", answer=1, last_seq=7, sha256="0" * 64)  # three frames are still on their way
        page.say(type="skip", answer=1)
        page.until("answer.opened", turn=2)
    assert "checksum" not in server.log.read_text()


def test_a_turn_without_frames_has_no_checksum_to_compare(server: Server) -> None:
    with Page(server, Person(questions=2)) as page:
        page.hello()
        page.until("answer.opened", turn=1)
        page.say(type="end", answer=1, last_seq=-1, sha256=hashlib.sha256().hexdigest())
        page.until("answer.opened", turn=2)
    assert "checksum" not in server.log.read_text()


def test_silence_ends_the_turn_and_the_pages_last_frames_still_count(server: Server) -> None:
    person = Person(questions=1)
    said = speech(1.0) + silence(3.0)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(said)
        assert page.until("turn.ended")["reason"] == "silence"
        more = silence(0.3)
        page.stream(more)
        page.end(said + more)
        assert page.until("committed")["sha256"] == hashlib.sha256(said + more).hexdigest()
        page.until("session.ended")
    assert turn_of(person, 1).audio_s == pytest.approx(4.3)


def test_an_interview_goes_on_without_the_pages_last_word_and_takes_it_later(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0) + silence(3.0))
        page.until("session.ended")
        assert "committed" not in page.types()  # the page may hold more of it
        assert not turn_of(person, 1).audio_complete
        for _ in range(2):  # said again, answered again
            page.say(type="end", answer=1, last_seq=39, sha256="")
            assert page.until("committed")["answer"] == 1
    turn = turn_of(person, 1)
    assert (turn.status, turn.audio_complete, turn.late_s) == ("answered", True, 0.0)
    assert not Job.objects.filter(kind="correct_answer", subject_id=turn.pk).exists()


def test_a_reload_goes_on_where_the_recording_is(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0))
        page.acked(9)
        first = page.messages[0]
    with Page(server, person) as page:
        welcome = page.hello(events_from=0)
        assert (welcome["next"], welcome["epoch"]) == (10, first["epoch"])
        assert welcome["gen"] == first["gen"] + 1
        turn = welcome["snapshot"]["turn"]
        assert (turn["turn"], turn["number"], turn["total"]) == (1, 1, 1)
        page.until("answer.opened")
        page.until("speech.started")  # the new session has heard what the old one had
        page.stream(speech(0.5) + silence(0.5))
        page.say(type="end", answer=1, last_seq=19)
        page.until("session.ended")
        assert page.of("transcript.final")[-1]["text"] == ANSWER
    turn_row = turn_of(person, 1)
    with wave.open(str(server.folder / "media" / turn_row.audio_path)) as wav:
        assert wav.readframes(wav.getnframes()) == SPOKEN


def test_events_are_numbered_and_replayed_from_where_the_page_is(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(type="text_answer", answer=1, text=ANSWER)
        page.until("answer.opened", turn=2)
        shown = [m for m in page.messages if m.get("eid")]
    eids = [m["eid"] for m in shown]
    assert eids == sorted(set(eids))
    with Page(server, person) as page:
        page.hello(events_from=0)
        page.until("answer.opened", turn=2)
        replayed = [m for m in page.messages if m.get("eid")]
        details = [m for m in page.of("feedback.delta") if m["part"] == "detail"]
    assert [m for m in replayed if m["type"] != "feedback.delta"] == shown
    assert len({m["dimension"] for m in details}) == len(details) == 5  # growing text comes back whole
    assert all(m["text"] for m in details)
    with Page(server, person) as page:
        page.hello(events_from=eids[-2])
        page.until("answer.opened", turn=2)
        assert [m["eid"] for m in page.messages if m.get("eid")] == [eids[-1]]


def test_duplicates_and_holes_are_answered_and_stored_once(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.frame(speech(0.1), seq=0)
        page.acked(0)
        page.frame(speech(0.1), seq=0)
        assert page.until("ack")["upto"] == 0
        page.frame(speech(0.1), seq=3)
        page.frame(speech(0.1), seq=4)
        assert page.until("nack") == {"type": "nack", "answer": 1, "from": 1}
        for seq in range(1, 5):
            page.frame(speech(0.1), seq=seq)
        page.acked(4)
        page.say(type="end", answer=1, last_seq=4)
        page.until("committed")
    assert len(page.of("nack")) == 1
    assert turn_of(person, 1).audio_s == pytest.approx(0.5)


def test_an_end_before_its_last_frames_waits_for_them(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(0.5))
        page.say(type="end", answer=1, last_seq=7)
        assert page.until("nack")["from"] == 5
        page.stream(speech(0.3))
        page.until("committed")
    assert turn_of(person, 1).audio_s == pytest.approx(0.8)


def test_a_page_that_claims_another_epoch_takes_no_acknowledged_frame_away(server: Server) -> None:
    person = Person(questions=1)
    folder = server.folder / "spool" / person.interview.public_id.hex
    with Page(server, person) as page:
        epoch = page.hello()["epoch"]
        page.until("answer.opened")
        page.stream(SPOKEN)
        page.acked(19)
    for _ in range(2):
        with Page(server, person) as page:
            welcome = page.hello(answer=1, epoch="f" * 32, have_from=0, have_to=1_000_000)
            assert (welcome["next"], welcome["epoch"]) == (20, epoch)
            assert [file.name for file in folder.iterdir()] == ["0001.spool"]
    with Page(server, person) as page:
        page.hello()
        page.say(type="end", answer=1, last_seq=19)
        assert page.until("committed")["sha256"] == hashlib.sha256(SPOKEN).hexdigest()


def test_audio_at_another_rate_is_noticed_within_four_seconds(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        for seq in range(20):  # 300 ms of samples for each 100 ms of capture: 48 kHz sent as 16 kHz
            raw = encode_frame(silence(0.3), answer=1, seq=seq, capture_us=seq * 100_000)
            page.socket.send(raw)
        for seq in range(20, 35):
            page.socket.send(encode_frame(silence(0.3), answer=1, seq=seq, capture_us=seq * 100_000))
        assert page.until("problem")["code"] == "rate_mismatch"


def test_nothing_that_was_said_is_in_the_log(server: Server) -> None:
    canary = "the purple canary sang at nine"
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(type="text_answer", answer=1, text=f"{ANSWER} {canary}")
        page.until("session.ended")
    with Page(server, person) as page:
        page.hello()
        page.say(type="text_answer", answer=1, text=f"{canary}\0")
        assert page.close_code() == 4400
    wait_until(lambda: "closed with 4400" in server.log.read_text())
    assert "canary" not in server.log.read_text()
    assert page.person.token not in server.log.read_text()


def test_an_interview_erased_in_the_middle_of_its_last_words_leaves_no_recording(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(SPOKEN)
        page.acked(19)
        Interview.objects.filter(pk=person.interview.pk).delete()
        page.end(SPOKEN)
        assert page.close_code() == 4403
        assert page.of("session.ended")[-1]["reason"] == "deleted"
    assert not list((server.folder / "media").rglob(f"*{person.interview.public_id.hex}*/*"))


def test_the_spool_folder_is_nobody_elses(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        folder = Path(server.folder / "spool" / person.interview.public_id.hex)
        wait_until(folder.exists)
        assert folder.stat().st_mode & 0o077 == 0


def test_a_recording_written_while_the_interview_was_erased_is_taken_away(server: Server) -> None:
    person = Person(questions=1)
    place = Place(Seat(person.interview.pk, 1), server.folder / "spool", server.folder / "media", "a/b")
    wav = server.folder / "media" / "a" / "b" / "0001.wav"
    wav.parent.mkdir(parents=True)
    wav.write_bytes(b"RIFF")
    kept = Kept("a/b/0001.wav", Recording("", 0.1, 1))
    audio_forget(place, kept)
    assert wav.exists()  # only taken over by a newer page: the recording is its answer's
    Interview.objects.filter(pk=person.interview.pk).delete()
    audio_forget(place, kept)
    assert not wav.parent.exists()
