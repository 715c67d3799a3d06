"""Section D of the fault list: what frames and messages may do wrong on their way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from apps.interviews.models import Interview, Turn
from apps.live.frames import HEADER, encode_frame
from tests.faults.client import LivePage
from tests.faults.kept_answer import pcm_of
from tests.faults.lab import Lab, scenario
from tests.faults.raw_socket import CUT, raw_socket, welcomed_socket
from tests.faults.site import Site

FRAME_ON_DISK = 3_232
FILE_HEADER = 32
OTHER_VOICE = 77  # a seed that no page of the lab has


def _seq(raw: bytes) -> int:
    return int(HEADER.unpack_from(raw)[4])


@dataclass(slots=True)
class _Once:
    """Tampers with a frame when it is sent for the first time, never when it is sent again."""

    hurt: Callable[[int, bytes], list[bytes]]
    seen: set[int] = field(default_factory=set)

    def __call__(self, raw: bytes) -> list[bytes]:
        seq = _seq(raw)
        if seq in self.seen:
            return [raw]
        self.seen.add(seq)
        return self.hurt(seq, raw)


async def _stored_frames(lab: Lab, site: Site, frames: int) -> None:
    """The spool holds so many frames and not a byte more."""
    [spool] = site.spools()
    await lab.until(lambda: spool.stat().st_size >= FILE_HEADER + frames * FRAME_ON_DISK)
    assert spool.stat().st_size == FILE_HEADER + frames * FRAME_ON_DISK


@scenario("F45", "one frame in ten comes twice: stored once, acknowledged again", quick=True)
async def duplicates(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.tamper = _Once(lambda seq, raw: [raw, raw] if seq % 10 == 3 else [raw])
    page.record(40)
    await lab.acked(page, 40)
    told = sum(one["type"] == "ack" for one in page.messages)
    assert page.link is not None
    await page.link.socket.send(page.answers[1].frames[3])
    await page.until(lambda: sum(one["type"] == "ack" for one in page.messages) > told, lab.within(10))
    assert page.has("ack", upto=39)
    assert page.has("nack") is None
    await _stored_frames(lab, site, 40)
    await lab.finished(page)


@scenario("F46", "frames change places: nack, back to the hole, the order is exact")
async def swapped(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    held: list[bytes] = []

    def swap(seq: int, raw: bytes) -> list[bytes]:
        if seq % 10 == 4:
            held.append(raw)
            return []
        return [raw, held.pop()] if held else [raw]

    page.tamper = _Once(swap)
    page.record(40)
    await lab.acked(page, 40)
    assert {one["from"] for one in page.messages if one["type"] == "nack"} & {4, 14, 24, 34}
    await _stored_frames(lab, site, 40)
    await lab.finished(page)


@scenario("F47", "a frame is lost on its way, the page still has it: nack, sent again", quick=True)
async def hole_filled(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.tamper = _Once(lambda seq, raw: [] if 10 <= seq < 15 else [raw])
    page.record(30)
    await lab.acked(page, 30)
    assert page.has("nack", **{"from": 10})
    assert page.has("audio.missing") is None
    await _stored_frames(lab, site, 30)
    await lab.finished(page)


@scenario(
    "F47b", "the page has lost frames too: an explicit hole, shown, low confidence, never joined", quick=True
)
async def hole_told(lab: Lab) -> None:
    site = await lab.site()
    person = await lab.person(questions=1)
    page = await lab.page(site, person)
    page.record(60)
    page.lose(10, 42)
    await lab.acked(page, 60)
    missing = await page.until(lambda: page.has("audio.missing", turn=1), lab.within(30))
    assert (missing["at_s"], missing["seconds"], missing["why"]) == (1.0, 3.2, "lost")
    await lab.finished(page)
    turn = await lab.rows(lambda: Turn.objects.get(interview=person.interview))
    assert [(hole["at_s"], hole["seconds"]) for hole in turn.missing] == [(1.0, 3.2)]
    assert turn.low_confidence
    assert turn.audio_s == 2.8
    shown = await site.ask("GET", f"/interviews/{person.interview.public_id}/report/", cookie=person.cookie)
    assert "[audio missing 3.2 s]" in shown.body, (shown.status, shown.body[:300])


@scenario("F48", "the same seq with other bytes: the first wins, three times is the end of it", quick=True)
async def conflicts(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.record(10)
    await lab.acked(page, 10)
    link = page.link
    assert link is not None
    for seq in (3, 4, 3):
        assert not page.closes
        other = pcm_of(seq, seed=OTHER_VOICE)
        await link.socket.send(encode_frame(other, answer=1, seq=seq, capture_us=seq * 100_000))
    await page.until(lambda: page.stopped, lab.within(10))
    assert page.closes == [4409]
    lab.expect_trace("3 frames came twice with different bytes")
    page.come_back()
    await page.until(lambda: len(page.welcomes) == 2, lab.within(30))
    assert page.welcomes[-1]["next"] == 10
    page.record(5)
    await lab.acked(page, 15)
    await lab.finished(page)  # and I1 finds the first bytes


@scenario("F48b", "two conflicts are counted and forgiven")
async def two_conflicts(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.record(10)
    await lab.acked(page, 10)
    assert page.link is not None
    for seq in (3, 4):
        other = pcm_of(seq, seed=OTHER_VOICE)
        await page.link.socket.send(encode_frame(other, answer=1, seq=seq, capture_us=seq * 100_000))
    page.record(10)
    await lab.acked(page, 20)
    assert page.closes == []
    await lab.finished(page)


async def _second_device(lab: Lab, site: Site, first: LivePage) -> LivePage:
    """Somebody opens the same interview elsewhere and has agreed to go on there."""
    second = LivePage(first.visitor, seed=lab.seed * 1_000 + 500)
    second.visitor = first.visitor.__class__(site.url, first.visitor.interview, first.visitor.cookie)
    lab.pages.append(second)
    lab.closing.push_async_callback(second.close_tab)
    second.come_back()
    await second.until(lambda: second.link and second.open_answer, lab.within(30))
    return second


@scenario(
    "F49",
    "a second device takes over: the first is told 4409, stops, and no frame is interleaved",
    quick=True,
)
async def second_device(lab: Lab) -> None:
    site = await lab.site()
    first = await lab.page(site)
    first.record(10)
    await lab.acked(first, 10)
    second = await _second_device(lab, site, first)
    await first.until(lambda: first.stopped, lab.within(10))
    assert first.closes == [4409]
    assert second.welcomes[-1]["gen"] > first.welcomes[-1]["gen"]
    assert second.welcomes[-1]["next"] == 10
    second.record(10)
    await lab.acked(second, 20)
    await lab.finished(second)


@scenario("F49b", "the first device does not hear that it is out and goes on: nothing of it is kept")
async def first_device_deaf(lab: Lab) -> None:
    site = await lab.site()
    proxy = await lab.proxy(site.port)
    first = await lab.page(site, door=proxy.url)
    first.record(10)
    await lab.acked(first, 10)
    proxy.down.hole = True
    second = await _second_device(lab, site, first)
    before = proxy.up.passed
    first.record(10)
    second.record(10)
    await lab.until(lambda: proxy.up.passed > before or not proxy.open)
    await lab.acked(second, 20)
    await first.close_tab()
    await lab.finished(second)  # and I1 finds only what the second one sent


@scenario(
    "F56",
    "audio or words before the hello, another type, another version: 4400, and nothing is taken",
    quick=True,
)
async def out_of_order_words(lab: Lab) -> None:
    site = await lab.site()
    person = await lab.person()
    frame = encode_frame(pcm_of(0), answer=1, seq=0, capture_us=0)
    stranger = await raw_socket(lab, site, person)
    await stranger.frame(frame)
    assert await stranger.closed(lab.within(10)) == 4400
    eager = await raw_socket(lab, site, person)
    await eager.say(type="text_answer", answer=1, text="I was never let in.")
    assert await eager.closed(lab.within(10)) == 4400
    assert site.spools() == []
    assert await lab.rows(lambda: Interview.objects.get(pk=person.interview.pk).generation) == 0
    for said in (b'{"type":"sudo"}', b"\xff\xfe", b"{"):
        odd = await welcomed_socket(lab, site, person)
        await odd.send(bytes([0x81, 0x80 | len(said)]) + bytes(4) + said)
        code = await odd.closed(lab.within(10))
        assert code in {4400, CUT}, (said, code)  # what is no text is cut off below the application
    versioned = await welcomed_socket(lab, site, person)
    await versioned.frame(b"\x02" + frame[1:])
    assert await versioned.closed(lab.within(10)) == 4400
    [spool] = site.spools()
    assert spool.stat().st_size == FILE_HEADER
    page = await lab.page(site, person)
    page.record(5)
    await lab.finished(page)


@scenario("F56b", "a socket that says nothing is closed with 4000")
async def no_hello(lab: Lab) -> None:
    site = await lab.site(clocks={"apps.live.consumers:HELLO_WITHIN_S": 1.0})
    silent = await raw_socket(lab, site, await lab.person())
    assert await silent.closed(lab.within(10)) == 4000


async def _as_long_as_may_be(lab: Lab, *, seconds: float, slack_s: float) -> Site:
    return await lab.site(
        clocks={"apps.live.intake:MAX_ANSWER_S": seconds, "apps.live.intake:SLACK_S": slack_s}
    )


@scenario("F57", "the longest answer: ended in order, committed whole, the next question comes")
async def longest_answer(lab: Lab) -> None:
    site = await _as_long_as_may_be(lab, seconds=6, slack_s=4.0)
    page = await lab.page(site)
    assert page.welcomes[0]["max_answer_s"] == 6
    page.record(75)
    await page.until(lambda: page.has("turn.ended", turn=1), lab.within(15))
    await page.until(lambda: page.answers[1].committed, lab.within(30))
    await page.until(lambda: page.open_answer == 2, lab.within(30))
    page.record(5)
    await lab.finished(page)


@scenario("F57b", "a page that goes on beyond the longest answer: refused with 4413, what is there is kept")
async def over_long_answer(lab: Lab) -> None:
    site = await _as_long_as_may_be(lab, seconds=6, slack_s=1.0)
    page = await lab.page(site)
    page.record(100)
    await page.until(lambda: page.stopped, lab.within(15))
    assert page.closes == [4413]
    kept = page.answers[1]
    assert kept.acked < 75
    kept.frames = kept.frames[:71]  # seven seconds and the frame that crossed them
    page.come_back()
    page.hand_in(1)
    await page.until(lambda: kept.committed, lab.within(30))
    await page.say(type="finish")
    await page.until(lambda: page.ended, lab.within(30))


@scenario(
    "F57c",
    "an answer of two hours, where that is allowed: memory grows by 20 MB at most",
    long=True,
    limit_s=1_800,
)
async def two_hours(lab: Lab) -> None:
    clocks = {
        "apps.live.intake:MAX_ANSWER_S": 7_300,
        "apps.live.intake:CATCH_UP": 100.0,
    }
    site = await lab.site(clocks=clocks)
    page = await lab.page(site)
    page.record(600, loud=False)
    await lab.acked(page, 600)
    before_mb, highest_mb = site.web.memory_mb(), 0.0
    for minute in range(2, 121):
        page.record(600, loud=False)
        await lab.acked(page, minute * 600)
        highest_mb = max(highest_mb, site.web.memory_mb())
    lab.measured("grown by", highest_mb - before_mb, "MB")
    assert highest_mb - before_mb <= 20
    await lab.finished(page)
