"""Pages that declare another rate: what they send is kept whole, at 16 kHz."""

from __future__ import annotations

import io
import wave
from math import pi, sin
from pathlib import Path

import pytest

from apps.interviews.models import Turn
from apps.live.close_codes import CloseCode, Refused
from apps.live.declared import DeclaredRate
from apps.live.frames import LAST, decode_frame, encode_frame
from apps.live.intake import Intake
from apps.live.messages import Gap
from apps.live.spool import open_spool
from inference.bootstrap import resampler
from tests.live.stack import Page, Person, Server
from tests.live.test_intake import Desk

RATES = (8_000, 44_100, 48_000)
FRAMES = 20


def tone(rate: int, frames: int = FRAMES) -> bytes:
    values = (round(9_000 * sin(2 * pi * 303.7 * at / rate)) for at in range(rate // 10 * frames))
    return b"".join(value.to_bytes(2, "little", signed=True) for value in values)


def raw_frames(pcm: bytes, rate: int, first: int = 0, last: int = FRAMES - 1) -> list[bytes]:
    """100 ms each, as a page at this rate cuts them; the last one says so."""
    size = rate // 10 * 2
    return [
        encode_frame(
            pcm[seq * size : (seq + 1) * size],
            answer=1,
            seq=seq,
            capture_us=seq * 100_000,
            flags=LAST if seq == last else 0,
        )
        for seq in range(first, len(pcm) // size)
    ]


def at_16_khz(pcm: bytes, rate: int) -> bytes:
    out, _ = resampler(rate).after(pcm, last=True)
    return out


@pytest.mark.parametrize("rate", RATES)
def test_what_comes_at_a_declared_rate_is_recorded_at_sixteen_kilohertz(server: Server, rate: int) -> None:
    person, pcm = Person(questions=1), tone(rate)
    with Page(server, person) as page:
        page.hello(rate=rate)
        page.until("answer.opened")
        for raw in raw_frames(pcm, rate):
            page.socket.send(raw)
        page.acked(FRAMES - 1)
        page.say(type="end", answer=1, last_seq=FRAMES - 1, sha256="0" * 64)
        page.until("committed")
        assert not page.of("problem")
    kept = server.folder / "media" / Turn.objects.get(interview=person.interview).audio_path
    with wave.open(io.BytesIO(kept.read_bytes())) as file:
        assert (file.getframerate(), file.getnchannels()) == (16_000, 1)
        assert file.readframes(file.getnframes()) == at_16_khz(pcm, rate)
    assert "checksum is not the recording's" not in server.log.read_text()


def test_a_page_that_comes_back_in_mid_answer_leaves_no_hole_and_no_repeat(server: Server) -> None:
    """Two milliseconds around the join are all that its new filter may change."""
    rate, pcm = 48_000, tone(48_000)
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello(rate=rate)
        page.until("answer.opened")
        for raw in raw_frames(pcm, rate)[:10]:
            page.socket.send(raw)
        page.acked(9)
    with Page(server, person) as page:
        assert page.hello(rate=rate)["next"] == 10
        for raw in raw_frames(pcm, rate, first=7):  # three of them once more
            page.socket.send(raw)
        page.acked(FRAMES - 1)
        page.say(type="end", answer=1, last_seq=FRAMES - 1)
        page.until("committed")
        assert not page.of("problem")
    kept = server.folder / "media" / Turn.objects.get(interview=person.interview).audio_path
    recorded, whole = kept.read_bytes()[44:], at_16_khz(pcm, rate)
    assert len(recorded) == len(whole)
    assert recorded[:32_000] == whole[:32_000]
    assert recorded[32_100:] == whole[32_100:]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk()
    made.intake = Intake(open_spool(tmp_path, 1), made.told.append, made, rate=44_100)
    return made


def test_a_frame_that_comes_again_is_a_duplicate_and_another_one_in_its_place_a_conflict(desk: Desk) -> None:
    pcm = tone(44_100)
    for raw in raw_frames(pcm, 44_100)[:3] * 2:
        desk.intake.take(decode_frame(raw, 44_100))
    assert [chunk.start for chunk in desk.heard] == [0, 1_600, 3_200]
    other = decode_frame(encode_frame(pcm[8_820:17_640], answer=1, seq=0, capture_us=0), 44_100)
    desk.intake.take(other)
    desk.intake.take(other)
    with pytest.raises(Refused) as refused:
        desk.intake.take(other)
    assert refused.value.code == CloseCode.SUPERSEDED


def test_a_frame_turned_away_for_want_of_room_is_heard_once_when_it_comes_again(tmp_path: Path) -> None:
    pcm, spool = tone(48_000, 4), open_spool(tmp_path, 1)
    declared, kept = DeclaredRate(48_000), b""
    frames = [decode_frame(raw, 48_000) for raw in raw_frames(pcm, 48_000, last=3)]
    for frame in (frames[0], frames[2], frames[1], frames[3], frames[2], frames[3]):
        verdict, at_16 = declared.append(frame, spool)
        kept += at_16.pcm if verdict == "stored" else b""
    spool.close()
    assert kept == at_16_khz(pcm, 48_000)


def test_nothing_is_filtered_across_a_hole(desk: Desk) -> None:
    loud, still = tone(44_100, 1), bytes(8_820)
    desk.intake.take(decode_frame(raw_frames(loud, 44_100)[0], 44_100))
    desk.intake.take_gap(Gap.model_validate({"type": "gap", "answer": 1, "from": 1, "to": 3, "why": "lost"}))
    desk.intake.take(decode_frame(encode_frame(still, answer=1, seq=3, capture_us=300_000), 44_100))
    assert desk.heard[-1].pcm == bytes(3_200)


@pytest.mark.parametrize("rate", RATES)
def test_a_frame_is_as_long_as_its_rate_makes_it(rate: int) -> None:
    for samples, wrong in ((rate // 50 - 1, "less than 20 ms"), (rate // 2 + 1, "more than 500 ms")):
        with pytest.raises(Refused, match=wrong):
            decode_frame(encode_frame(b"\1\0" * samples, answer=1, seq=0, capture_us=0), rate)
    longest = encode_frame(b"\1\0" * (rate // 2), answer=1, seq=0, capture_us=0, flags=LAST)
    assert decode_frame(longest, rate).samples == rate // 2
