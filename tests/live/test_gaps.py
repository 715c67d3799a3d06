"""Audio that a page lost for good: told by `gap`, kept in the spool, shown, and never silently joined."""

from __future__ import annotations

import os
import wave
from contextlib import closing
from pathlib import Path

import pytest

from apps.interviews.models import Turn
from apps.live.close_codes import CloseCode, Refused
from apps.live.intake import RateCheck
from apps.live.messages import MAX_GAP_FRAMES, Ack, Gap, Nack
from apps.live.spool import MAX_UNSYNCED_FRAMES, Spool, open_spool
from apps.live.spool_scan import FILE_HEADER_BYTES, LostRun
from tests.live.stack import ANSWER, Page, Person, Server, wait_until
from tests.live.test_intake import Desk, desk
from tests.live.wire import frames, numbered_pcm, silence, speech

__all__ = ["desk"]
FRAME_BYTES = 32 + 3_200
RUN_BYTES = 32 + 12


def gap(first: int, to: int, why: str = "lost") -> Gap:
    return Gap.model_validate({"type": "gap", "answer": 1, "from": first, "to": to, "why": why})


def with_hole(folder: Path) -> Spool:
    """Frames 0 to 2, 3 to 9 lost, frames 10 and 11."""
    spool = open_spool(folder, 1)
    for frame in frames(numbered_pcm(3)):
        spool.append(frame)
    assert spool.gap(3, 10, 100, "full") == "stored"
    for frame in frames(numbered_pcm(2, first=10), first_seq=10):
        assert spool.append(frame) == "stored"
    spool.flush()
    return spool


HELD = numbered_pcm(3) + numbered_pcm(2, first=10)
HOLE = LostRun(3, 10, 700, "full", at_sample=4_800)


def test_a_hole_takes_seqs_but_no_samples(tmp_path: Path) -> None:
    spool = with_hole(tmp_path)
    assert (spool.next, spool.kept, spool.waiting, spool.samples) == (12, 12, 0, 5 * 1_600)
    assert spool.lost == (HOLE,)
    assert (HOLE.at_s, HOLE.seconds) == (0.3, 0.7)
    assert b"".join(spool.payloads()) == HELD
    spool.close()


def test_a_hole_is_there_after_reopening(tmp_path: Path) -> None:
    with_hole(tmp_path).close()
    spool = open_spool(tmp_path, 1)
    assert (spool.next, spool.kept, spool.samples, spool.lost) == (12, 12, 5 * 1_600, (HOLE,))
    assert b"".join(spool.payloads()) == HELD
    assert spool.append(frames(numbered_pcm(1), first_seq=12)[0]) == "stored"
    spool.close()


def test_the_recording_of_an_answer_with_a_hole_has_only_what_came(tmp_path: Path) -> None:
    spool = with_hole(tmp_path)
    recording = spool.to_wav(tmp_path / "a.wav")
    with wave.open(str(tmp_path / "a.wav")) as wav:
        assert wav.readframes(wav.getnframes()) == HELD
    assert (recording.duration_s, recording.frames) == (0.5, 12)
    spool.close()


def test_a_frame_or_a_gap_for_what_a_hole_stands_for_is_a_duplicate(tmp_path: Path) -> None:
    spool = with_hole(tmp_path)
    [late] = frames(numbered_pcm(1, first=500), first_seq=5)
    assert spool.append(late) == "duplicate"
    assert spool.gap(3, 10, 100, "lost") == "duplicate"
    assert spool.gap(20, 30, 100, "lost") == "ahead"
    spool.close()
    reopened = open_spool(tmp_path, 1)
    assert reopened.append(late) == "duplicate"
    reopened.close()


def test_of_a_gap_over_frames_that_came_only_the_rest_is_lost(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    for frame in frames(numbered_pcm(4)):
        spool.append(frame)
    spool.gap(2, 6, 100, "unreadable")
    assert spool.lost == (LostRun(4, 6, 200, "unreadable", at_sample=6_400),)
    spool.close()


@pytest.mark.parametrize("cut_bytes", [1, 11, 12, 43])
def test_a_torn_hole_at_the_end_is_cut_off(tmp_path: Path, cut_bytes: int) -> None:
    spool = open_spool(tmp_path, 1)
    spool.append(frames(numbered_pcm(1))[0])
    spool.gap(1, 9, 100, "lost")
    spool.close()
    os.truncate(spool.path, spool.path.stat().st_size - cut_bytes)
    reopened = open_spool(tmp_path, 1)
    assert (reopened.next, reopened.lost, reopened.epoch) == (1, (), spool.epoch)
    reopened.close()


@pytest.mark.parametrize("at", [3 * FRAME_BYTES + 40, 3 * FRAME_BYTES + 5, 2 * FRAME_BYTES + 50])
def test_damage_in_or_before_a_hole_puts_the_spool_aside(tmp_path: Path, at: int) -> None:
    spool = with_hole(tmp_path)
    spool.close()
    content = bytearray(spool.path.read_bytes())
    content[FILE_HEADER_BYTES + at] ^= 8
    if at < 3 * FRAME_BYTES:  # nothing but the hole behind the damage
        del content[FILE_HEADER_BYTES + 3 * FRAME_BYTES + RUN_BYTES :]
    spool.path.write_bytes(content)
    reopened = open_spool(tmp_path, 1)
    assert (reopened.next, len(list(tmp_path.glob("*.damaged")))) == (0, 1)
    assert reopened.epoch != spool.epoch
    reopened.close()


def test_the_session_is_told_of_a_hole_and_the_page_when_it_is_kept(desk: Desk) -> None:
    desk.intake.take(frames(numbered_pcm(1))[0])
    desk.intake.take_gap(gap(1, 321))
    assert (desk.missed, desk.told) == ([(32.0, "lost")], [])
    assert desk.intake.window > 320  # the page may send on behind the hole
    desk.intake.spool.flush()
    desk.intake.kept()
    assert desk.told == [Ack(answer=1, upto=320, window=desk.intake.window)]


def test_a_gap_said_again_is_acknowledged_and_one_too_far_ahead_is_asked_back(desk: Desk) -> None:
    desk.intake.take_gap(gap(0, 4))
    desk.intake.spool.flush()
    desk.intake.take_gap(gap(0, 4))
    desk.intake.take_gap(gap(7, 9))
    assert [message.type for message in desk.told] == ["ack", "nack"]
    assert desk.told[1] == Nack(answer=1, from_=4)
    assert len(desk.missed) == 1


def test_a_gap_waits_its_turn_when_the_disk_is_slow(desk: Desk) -> None:
    for frame in frames(numbered_pcm(MAX_UNSYNCED_FRAMES)):
        desk.intake.take(frame)
    desk.intake.take_gap(gap(MAX_UNSYNCED_FRAMES, MAX_UNSYNCED_FRAMES + 5))
    assert desk.missed == []
    desk.intake.spool.flush()
    desk.intake.kept()
    assert desk.told[0] == Nack(answer=1, from_=MAX_UNSYNCED_FRAMES)


def test_a_hole_is_no_other_rate_of_the_microphone(desk: Desk) -> None:
    for frame in frames(numbered_pcm(20)):
        desk.intake.take(frame)
    desk.intake.take_gap(gap(20, 60))
    desk.intake.spool.flush()
    for frame in frames(numbered_pcm(20), first_seq=60):
        desk.intake.take(frame)
    assert desk.told == []
    assert desk.intake._rate != RateCheck()  # it watches on, from behind the hole


def test_a_hole_costs_no_allowance_and_holes_have_a_bound(desk: Desk) -> None:
    left_s = desk.intake._allowance.left_s
    desk.intake.take_gap(gap(0, MAX_GAP_FRAMES))
    assert desk.intake._allowance.left_s == left_s
    with pytest.raises(Refused) as refused:
        desk.intake.take_gap(gap(MAX_GAP_FRAMES, MAX_GAP_FRAMES + 1))
    assert refused.value.code == CloseCode.BAD_FRAME


def test_what_is_said_again_counts_once_against_the_bound_of_holes(desk: Desk) -> None:
    desk.intake.take_gap(gap(0, MAX_GAP_FRAMES))
    desk.intake.spool.flush()
    desk.intake.take_gap(gap(0, MAX_GAP_FRAMES))  # its acknowledgement was lost with the connection
    assert [message.type for message in desk.told] == ["ack"]
    desk.intake.spool.close()
    with closing(open_spool(desk.intake.spool.path.parent, 1)) as reopened:
        assert reopened.lost_seqs == MAX_GAP_FRAMES


def test_a_hole_is_shown_in_the_transcript_kept_with_the_turn_and_doubts_the_score(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0))
        page.say(type="gap", answer=1, **{"from": 10, "to": 42, "why": "lost"})
        page.sent = 42
        page.stream(speech(1.0) + silence(0.8))
        page.say(type="end", answer=1, last_seq=59)
        page.until("committed")
        page.until("session.ended")
        [missing] = page.of("audio.missing")
        finals = [final["start_s"] for final in page.of("transcript.final")]
    assert (missing["at_s"], missing["seconds"], missing["why"]) == (1.0, 3.2, "lost")
    assert [start_s < 1.0 for start_s in finals] == [True, False]  # never one utterance across the hole
    turn = Turn.objects.get(interview=person.interview)
    assert turn.missing == [{"at_s": 1.0, "seconds": 3.2, "why": "lost"}]
    assert (turn.last_seq, round(turn.audio_s, 3), turn.low_confidence) == (59, 2.8, True)
    assert (turn.transcript, turn.scores.get().low_confidence) == (f"{ANSWER} {ANSWER}", True)


def test_a_hole_is_told_once_however_often_the_page_comes_back(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0))
        page.say(type="gap", answer=1, **{"from": 10, "to": 20, "why": "full"})
        wait_until(lambda: person.interview.events.filter(type="audio.missing").exists())
        page.frame(speech(0.1), seq=0)
        page.acked(19)  # also where that came before the event
    with Page(server, person) as page:
        assert page.hello()["next"] == 20
        page.stream(speech(1.0))
        page.say(type="end", answer=1, last_seq=29)
        page.until("session.ended")
    assert person.interview.events.filter(type="audio.missing").count() == 1
    assert Turn.objects.get(interview=person.interview).missing == [
        {"at_s": 1.0, "seconds": 1.0, "why": "full"}
    ]


def test_a_hole_at_the_end_of_an_ended_turn_is_told_too(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0) + silence(3.0))
        page.until("turn.ended")
        page.say(type="gap", answer=1, **{"from": 40, "to": 45, "why": "unreadable"})
        page.say(type="end", answer=1, last_seq=44)
        page.until("committed")
        page.until("session.ended")
    event = person.interview.events.get(type="audio.missing")
    assert (event.payload["at_s"], event.payload["seconds"]) == (4.0, 0.5)
    assert Turn.objects.get(interview=person.interview).low_confidence


def test_a_gap_that_no_page_can_have_is_a_bad_frame(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.say(type="gap", answer=1, **{"from": 0, "to": 36_001, "why": "lost"})
        assert page.close_code() == 4400
