"""What survives: kill -9, a stopping server, a full disk, a locked database, a lost Redis."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import time
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from channels_redis.core import RedisChannelLayer

from apps.interviews.group import GROUP
from apps.interviews.models import Interview, Turn
from apps.interviews.services.live import event_append
from apps.interviews.services.seats import Seat, Superseded
from apps.ops.models import Job
from inference import events as ev
from tests.database import no_writes
from tests.live.stack import ANSWER, Page, Person, Server, wait_until
from tests.live.wire import frames, numbered_pcm, silence, speech

SPOKEN = speech(1.5) + silence(0.5)


@pytest.fixture(scope="module")
def mortal(database: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A web process that tests may kill; each finds it running."""
    folder = tmp_path_factory.mktemp("var")
    running = Server(folder, database, ANSWER, IDLE_S="4", REDIS_URL=redis_url).start()
    yield running
    running.stop()


def kept_pcm(server: Server, turn: Turn) -> bytes:
    with wave.open(str(server.folder / "media" / turn.audio_path)) as wav:
        return bytes(wav.readframes(wav.getnframes()))


@dataclass(frozen=True, slots=True)
class Killed:
    """Three people in the middle of things when the web process was killed; it is back now."""

    server: Server
    speaking: Person
    epoch: str
    acked: int
    done: Person
    typing: Person


SAID = SPOKEN + numbered_pcm(10, first=2_000)


@pytest.fixture(scope="module")
def killed(mortal: Server, database: str) -> Killed:
    speaking, done, typing = Person(questions=1), Person(questions=1), Person(questions=1)
    with Page(mortal, speaking) as one, Page(mortal, done) as two, Page(mortal, typing) as three:
        epoch = one.hello()["epoch"]
        two.hello()
        three.hello()
        one.stream(SAID)
        one.acked(24)
        two.stream(SPOKEN)
        two.acked(19)
        three.say(type="text_answer", answer=1, text=ANSWER)
        wait_until(lambda: Turn.objects.filter(interview=typing.interview, transcript=ANSWER).exists())
        with no_writes(database):
            two.end(SPOKEN)
            time.sleep(0.3)
            mortal.kill()
        acked = max(ack["upto"] for ack in one.of("ack"))
    mortal.start()
    return Killed(mortal, speaking, epoch, acked, done, typing)


def test_after_kill_9_every_acknowledged_frame_is_there_and_heard_again(killed: Killed) -> None:
    with Page(killed.server, killed.speaking) as page:
        welcome = page.hello(answer=1, epoch=killed.epoch, have_from=0, have_to=30)
        assert welcome["next"] > killed.acked
        assert welcome["epoch"] == killed.epoch
        assert page.until("speech.started")["turn"] == 1
        for frame in frames(SAID)[int(welcome["next"]) :]:
            page.socket.send(frame.raw)
        page.sent = 30
        page.end(SAID)
        committed = page.until("committed")
        assert page.of("transcript.final")[-1]["text"] == ANSWER
        page.until("session.ended")
    turn = Turn.objects.get(interview=killed.speaking.interview)
    assert committed["sha256"] == hashlib.sha256(SAID).hexdigest()
    assert kept_pcm(killed.server, turn) == SAID
    assert (turn.status, turn.scores.count(), turn.utterances.count()) == ("answered", 1, 1)


def test_kill_9_after_the_end_leads_to_one_answer_one_score_and_one_job(killed: Killed) -> None:
    sha256 = hashlib.sha256(SPOKEN).hexdigest()
    for _ in range(2):  # the page says its end again, as it must
        with Page(killed.server, killed.done) as page:
            page.hello(answer=1)
            page.say(type="end", answer=1, last_seq=19, sha256=sha256)
            page.until("session.ended")
    turn = Turn.objects.get(interview=killed.done.interview)
    assert (turn.scores.count(), kept_pcm(killed.server, turn)) == (1, SPOKEN)
    assert Job.objects.filter(subject_id=killed.done.interview.pk).count() == 1


def test_a_typed_answer_survives_kill_9(killed: Killed) -> None:
    with Page(killed.server, killed.typing) as page:
        page.hello()
        page.until("session.ended")
    assert Turn.objects.get(interview=killed.typing.interview).scores.count() == 1


def test_a_damaged_spool_is_uploaded_again_from_the_start(mortal: Server) -> None:
    person = Person(questions=1)
    with Page(mortal, person) as page:
        epoch = page.hello()["epoch"]
        page.stream(numbered_pcm(8))
        page.acked(7)
    folder = mortal.folder / "spool" / person.interview.public_id.hex
    [spool] = folder.glob("*.spool")
    content = bytearray(spool.read_bytes())
    content[2_000] ^= 1
    spool.write_bytes(content)
    with Page(mortal, person) as page:
        welcome = page.hello(answer=1, epoch=epoch, have_from=0, have_to=8)
        assert welcome["next"] == 0
        assert welcome["epoch"] != epoch
        page.stream(numbered_pcm(8))
        page.acked(7)
        assert len(list(folder.glob("*.damaged"))) == 1
        page.end(numbered_pcm(8))
        assert page.until("committed")["sha256"] == hashlib.sha256(numbered_pcm(8)).hexdigest()
        page.until("session.ended")
    wait_until(lambda: not folder.exists())  # the whole answer was uploaded again


def test_a_page_that_falls_silent_is_suspended_and_comes_back(mortal: Server) -> None:
    person = Person(questions=1)
    with Page(mortal, person) as page:
        page.hello()
        page.stream(speech(0.3))
        page.acked(2)
        for _ in range(10):
            page.say(type="heartbeat")
            time.sleep(0.5)
        assert "session.ended" not in page.types()
        assert page.close_code() == 4000
    with Page(mortal, person) as page:
        assert page.hello()["next"] == 3


def test_a_stopping_server_tells_the_page_to_come_back(mortal: Server) -> None:
    person = Person(questions=1)
    with Page(mortal, person) as page:
        page.hello()
        page.stream(speech(0.3))
        page.acked(2)
        mortal.stop()
        assert page.close_code() == 1012
    mortal.start()
    with Page(mortal, person) as page:
        assert page.hello()["next"] == 3


def test_an_unusable_spool_folder_is_an_error_the_page_may_retry(mortal: Server) -> None:
    person = Person(questions=1)
    blocked = mortal.folder / "spool" / person.interview.public_id.hex
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_text("in the way")
    with Page(mortal, person) as page:
        page.say(type="hello", ticket=person.ticket())
        assert page.close_code() == 1011
    blocked.unlink()
    with Page(mortal, person) as page:
        page.hello()


def test_a_locked_database_delays_the_rows_and_loses_nothing(server: Server, database: str) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        with no_writes(database):
            page.stream(SPOKEN)
            page.acked(19)  # the recording does not wait for the database
            page.end(SPOKEN)
            time.sleep(1.0)
            assert "committed" not in page.types()
        page.until("session.ended")
    assert Turn.objects.get(interview=person.interview).status == "answered"


def test_an_older_generation_may_not_write(mortal: Server) -> None:
    person = Person(questions=1)
    with Page(mortal, person) as page:
        seat = Seat(person.interview.pk, int(page.hello()["gen"]))
    with Page(mortal, person) as page:
        page.hello()
        with pytest.raises(Superseded):
            event_append(seat=seat, events=[ev.AnswerOpened(turn=9)])
    assert not person.interview.events.filter(turn_number=9).exists()


@pytest.fixture
def small_disk(mortal: Server, tmp_path: Path) -> Iterator[Path]:
    """The server's spool folder becomes a disk of 128 KiB."""
    folder = mortal.folder / "spool"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_pauses_the_page_and_goes_on_when_there_is_room(mortal: Server, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 100_000)
    person = Person(questions=1)
    with Page(mortal, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(numbered_pcm(20))
        assert page.until("problem")["code"] == "storage_full"
        assert page.until("ack")["window"] == 0
        ballast.unlink()
        page.acked(19)
        assert page.of("ack")[-1]["window"] > 0
        page.end(numbered_pcm(20))
        assert page.until("committed")["sha256"] == hashlib.sha256(numbered_pcm(20)).hexdigest()


def test_without_a_speech_model_the_page_is_told_why_and_typing_works(
    database: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = Server(tmp_path_factory.mktemp("var"), database).start()
    person = Person(questions=1)
    with Page(server, person) as page:
        assert page.hello()["snapshot"]["mode"] == "text"
        ready = page.until("session.ready")
        assert (ready["mode"], ready["reason"]) == ("text", "no speech model in this test")
        page.until("answer.opened")
        page.say(type="text_answer", answer=1, text=ANSWER)
        page.until("session.ended")
    server.stop()
    assert Interview.objects.get(pk=person.interview.pk).status == "finished"


def test_other_processes_reach_the_page_through_the_channel_layer(mortal: Server, redis_url: str) -> None:
    person, other = Person(questions=1), Person(questions=1)
    send = async_to_sync(_group_send)
    with Page(mortal, person) as page, Page(mortal, other) as second:
        page.hello()
        second.hello()
        time.sleep(0.5)  # the group is joined beside the conversation
        send(redis_url, person, {"type": "interview.corrected", "turn": 1, "late_s": 3.2})
        assert page.until("answer.corrected", turn=1)["late_s"] == 3.2
        send(redis_url, person, {"type": "interview.analysis"})
        page.until("analysis.ready")
        send(redis_url, person, {"type": "interview.superseded", "gen": 1})  # its own, or an older one
        send(redis_url, person, {"type": "interview.deleted"})
        assert page.until("session.ended")["reason"] == "deleted"
        assert page.close_code() == 4403
        send(redis_url, other, {"type": "interview.superseded", "gen": 2})
        assert second.close_code() == 4409


async def _group_send(redis_url: str, person: Person, message: dict[str, object]) -> None:
    layer = RedisChannelLayer(hosts=[{"address": redis_url + "/1", "socket_timeout": None}])
    about = {person.interview.public_id.hex: message}
    await layer.group_send(GROUP, {"type": "interviews", "messages": about})
    await layer.close_pools()
