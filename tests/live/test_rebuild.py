"""A session rebuilt from spool and events: what was made final is not heard again, the rest is, once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.interviews.models import Turn
from apps.live.replay import CHUNK_BYTES, Replay
from apps.live.spool import Spool, open_spool
from apps.live.spool_scan import LostRun
from inference.audio import AudioChunk
from tests.live.stack import ANSWER, Page, Person, Server, wait_until
from tests.live.wire import frames, numbered_pcm, silence, speech

FIRST = speech(1.0) + silence(0.8)  # an utterance with its final
FRAME_BYTES, RUN_BYTES = 32 + 3_200, 32 + 12
SECOND = speech(1.0)  # one that has none when the server dies


@pytest.fixture(scope="module")
def mortal(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It hears ANSWER whatever is said."""
    running = Server(tmp_path_factory.mktemp("var"), database, ANSWER).start()
    yield running
    running.stop()


def acked_to(page: Page) -> int:
    return max((ack["upto"] for ack in page.of("ack")), default=-1)


def final_when_kept(page: Page) -> dict[str, Any]:
    """The first utterance's final, once all that was streamed is on disk as well."""
    while not page.of("transcript.final") or acked_to(page) < page.sent - 1:
        page.receive()
    return page.of("transcript.final")[0]


async def at_once() -> None:
    """No pause between two pieces."""


def replayed(spool: Spool, from_sample: int) -> list[AudioChunk | LostRun]:
    async def gathered() -> list[AudioChunk | LostRun]:
        return [piece async for piece in Replay(spool, from_sample).pieces(at_once)]

    return asyncio.run(gathered())


def kept(folder: Path, count: int) -> Spool:
    spool = open_spool(folder, 1)
    for frame in frames(numbered_pcm(count)):
        spool.append(frame)
        if spool.waiting > 50:
            spool.flush()
    spool.flush()
    return spool


def test_audio_is_replayed_from_the_very_sample_on(tmp_path: Path) -> None:
    spool = kept(tmp_path, 10)
    [chunk] = replayed(spool, 4_000)
    assert chunk == AudioChunk(4_000, numbered_pcm(10)[8_000:])
    assert replayed(spool, 16_000) == []
    spool.close()


def test_a_long_answer_is_replayed_two_seconds_at_a_time(tmp_path: Path) -> None:
    spool = kept(tmp_path, 100)
    pieces = [piece for piece in replayed(spool, 0) if isinstance(piece, AudioChunk)]
    assert {len(piece.pcm) for piece in pieces} == {CHUNK_BYTES}
    assert [piece.start for piece in pieces] == [0, 32_000, 64_000, 96_000, 128_000]
    assert b"".join(piece.pcm for piece in pieces) == numbered_pcm(100)
    spool.close()


def test_holes_are_replayed_where_they_are(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    spool.gap(0, 2, 100, "full")
    for frame in frames(numbered_pcm(3), first_seq=2):
        spool.append(frame)
    spool.gap(5, 6, 100, "lost")
    spool.gap(6, 9, 100, "full")
    for frame in frames(numbered_pcm(1, first=3), first_seq=9):
        spool.append(frame)
    spool.gap(10, 11, 100, "lost")
    spool.flush()
    first, second, third, last = spool.lost
    assert replayed(spool, 0) == [
        first,
        AudioChunk(0, numbered_pcm(3)),
        second,
        third,
        AudioChunk(4_800, numbered_pcm(1, first=3)),
        last,
    ]
    assert replayed(spool, 4_800)[:2] == [second, third]
    spool.close()


def test_words_made_final_before_the_kill_are_not_heard_again(mortal: Server) -> None:
    person = Person(questions=1)
    with Page(mortal, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(FIRST + SECOND)
        before = final_when_kept(page)
        mortal.kill()
    mortal.start()
    with Page(mortal, person) as page:
        page.hello()
        page.stream(silence(0.8))
        page.end(FIRST + SECOND + silence(0.8))
        page.until("committed")
        page.until("session.ended")
        finals = page.of("transcript.final")
    assert [(final["utterance"], final["text"]) for final in finals] == [(1, ANSWER), (2, ANSWER)]
    assert (finals[0]["eid"], finals[1]["start_s"] >= before["end_s"]) == (before["eid"], True)
    turn = Turn.objects.get(interview=person.interview)
    assert turn.transcript == f"{ANSWER} {ANSWER}"
    assert [utterance.number for utterance in turn.utterances.all()] == [1, 2]
    assert turn.scores.count() == 1
    assert turn.sha256 == hashlib.sha256(FIRST + SECOND + silence(0.8)).hexdigest()


def test_two_kills_without_progress_leave_identical_bytes_and_finals(mortal: Server) -> None:
    person = Person(questions=1)
    spool = mortal.folder / "spool" / person.interview.public_id.hex / "0001.spool"
    with Page(mortal, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(FIRST + SECOND)
        final_when_kept(page)
        mortal.kill()
    bytes_before = spool.read_bytes()
    for _ in range(2):
        mortal.start()
        with Page(mortal, person) as page:
            assert page.hello()["next"] == 28
            mortal.kill()
        assert spool.read_bytes() == bytes_before
    mortal.start()
    with Page(mortal, person) as page:
        page.hello()
        page.end(FIRST + SECOND)
        page.until("committed")
    finals = person.interview.events.filter(type="transcript.final").order_by("eid")
    assert [final.payload["utterance"] for final in finals] == [1, 2]
    assert Turn.objects.get(interview=person.interview).transcript == f"{ANSWER} {ANSWER}"


def test_a_turn_that_had_ended_is_not_heard_on_and_judged_once(mortal: Server) -> None:
    person = Person(questions=1)
    with Page(mortal, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0) + silence(3.0))
        page.until("turn.ended")
        mortal.kill()  # while it waits for the page's last word
    mortal.start()
    with Page(mortal, person) as page:
        page.hello()
        page.sent = 40
        page.stream(speech(1.0))  # said after the end: recorded, but no part of the answer
        page.say(type="end", answer=1, last_seq=49)
        page.until("committed")
        page.until("session.ended")
    turn = Turn.objects.get(interview=person.interview)
    assert (turn.status, turn.end_reason, turn.transcript) == ("answered", "silence", ANSWER)
    assert (turn.scores.count(), round(turn.audio_s, 3)) == (1, 5.0)
    assert person.interview.events.filter(type="turn.ended").count() == 1


def test_a_hole_that_was_not_told_before_the_kill_is_told_after_it(mortal: Server) -> None:
    person = Person(questions=1)
    spool = mortal.folder / "spool" / person.interview.public_id.hex / "0001.spool"
    with Page(mortal, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0))
        page.say(type="gap", answer=1, **{"from": 10, "to": 20, "why": "lost"})
        page.until("audio.missing")
        wait_until(lambda: spool.stat().st_size > 10 * FRAME_BYTES + RUN_BYTES)
        mortal.kill()
    person.interview.events.filter(type="audio.missing").delete()
    mortal.start()
    for _ in range(2):
        with Page(mortal, person) as page:
            page.hello()
            wait_until(lambda: person.interview.events.filter(type="audio.missing").exists())
    assert person.interview.events.filter(type="audio.missing").count() == 1
