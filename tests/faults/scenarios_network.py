"""Section D of the fault list: networks that are cut, reset, sliced, narrow, slow or silent."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from apps.interviews.models import Interview
from tests.faults.client import Habits, LivePage
from tests.faults.lab import Lab, scenario
from tests.faults.proxy import Proxy

FRAME_S = 0.1
CATCH_UP = 4.0
BURST_S = 30.0
IMPATIENT = Habits(silent_s=3.0, unacked_s=1.5, welcome_s=3.0, longest_wait_s=1.0)


async def _behind_a_proxy(lab: Lab, habits: Habits | None = None, **plan: Any) -> tuple[Proxy, LivePage]:
    site = await lab.site(**plan)
    proxy = await lab.proxy(site.port)
    return proxy, await lab.page(site, door=proxy.url, habits=habits)


async def _speak(page: LivePage, frames: int, *, loud: bool = True) -> None:
    """As a microphone does: a frame each 100 ms."""
    due = time.monotonic()
    for _ in range(frames):
        page.record(1, loud=loud)
        due += FRAME_S
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _cut(lab: Lab, seconds: float, away_s: float, habits: Habits | None, *, loud: bool = True) -> None:
    """The network swallows everything for `seconds`, in which `away_s` of audio are recorded."""
    proxy, page = await _behind_a_proxy(lab, habits)
    page.record(10, loud=loud)
    await lab.acked(page, 10)
    proxy.hole(on=True)
    ended = time.monotonic() + seconds
    frames = round(away_s / FRAME_S)
    page.record(frames, loud=loud)
    await page.until(lambda: page.link is None, lab.within(20))
    await asyncio.sleep(max(0.0, ended - time.monotonic()))
    assert page.answers[1].acked == 9
    proxy.hole(on=False)
    back = time.monotonic()
    uploading_s = max(0.0, away_s + 1 - BURST_S) / CATCH_UP
    kept = page.answers[1]
    await page.until(lambda: kept.acked == frames + 9, lab.within(30) + uploading_s * 2)
    took_s = time.monotonic() - back
    lab.measured("caught up in", took_s)
    assert took_s > uploading_s - 5, f"{away_s:.0f} s of audio came in {took_s:.1f} s"
    assert page.closes == [1006] * len(page.closes)
    await lab.finished(page)


@scenario("F50", "the network is cut for 5 s: everything comes afterwards, nothing is lost")
async def cut_briefly(lab: Lab) -> None:
    await _cut(lab, 5.0, 5.0, IMPATIENT)


@scenario("F50b", "a minute of audio waits on the page: it comes at four times real time at most")
async def cut_for_a_minute(lab: Lab) -> None:
    await _cut(lab, 5.0, 60.0, IMPATIENT)


@scenario("F50c", "the network is cut for 10 min in real time", long=True, limit_s=1_800)
async def cut_for_long(lab: Lab) -> None:
    await _cut(lab, 600.0, 580.0, None, loud=False)


async def _reset_again_and_again(lab: Lab, resets: int) -> None:
    proxy, page = await _behind_a_proxy(lab, Habits(longest_wait_s=1.0))
    speaking = asyncio.create_task(_speak(page, resets * 20))
    for _ in range(resets):
        await asyncio.sleep(2.0)
        proxy.reset()
    await speaking
    await lab.acked(page, resets * 20)
    assert len(page.welcomes) > resets // 2, page.state()
    lab.measured("welcomes", len(page.welcomes), "")
    await lab.finished(page)


@scenario("F53a", "every connection is reset every 2 s: 0 lost")
async def resets(lab: Lab) -> None:
    await _reset_again_and_again(lab, 8)


@scenario("F53e", "every connection is reset every 2 s, for a minute", long=True, limit_s=300)
async def resets_for_a_minute(lab: Lab) -> None:
    await _reset_again_and_again(lab, 30)


@scenario("F53b", "bytes come one by one: 0 lost")
async def slices(lab: Lab) -> None:
    proxy, page = await _behind_a_proxy(lab)
    proxy.up.slice_bytes = proxy.down.slice_bytes = 1
    page.record(15)
    await lab.acked(page, 15)
    page.cut()
    await page.until(lambda: len(page.welcomes) == 2, lab.within(30))  # the handshake, sliced too
    page.record(5)
    await lab.acked(page, 20)
    proxy.up.slice_bytes = proxy.down.slice_bytes = 0
    await lab.finished(page)


@scenario("F53c", "16 KB/s, half of what speech needs: the page falls behind, stays, and 0 is lost")
async def narrow(lab: Lab) -> None:
    proxy, page = await _behind_a_proxy(lab, Habits(unacked_s=30.0))
    proxy.up.bandwidth = 16 * 1_024.0
    await _speak(page, 80)
    kept = page.answers[1]
    behind_s = (79 - kept.acked) * FRAME_S
    lab.measured("behind after 8 s", behind_s)
    assert behind_s > 2
    await lab.acked(page, 80)
    assert page.closes == []
    proxy.up.bandwidth = 0
    await lab.finished(page)


@scenario("F53d", "800 ms there and back, 400 ms more or less: 0 lost, the socket stays")
async def far_away(lab: Lab) -> None:
    proxy, page = await _behind_a_proxy(lab)
    for way in (proxy.up, proxy.down):
        way.latency_s, way.jitter_s = 0.8, 0.4
    await _speak(page, 50)
    await lab.acked(page, 50)
    assert page.closes == []
    assert len(page.welcomes) == 1
    await lab.finished(page)


@scenario("F54a", "the server falls silent, TCP stays open: the page reconnects by itself")
async def silent_server(lab: Lab) -> None:
    habits = Habits(silent_s=6.0, longest_wait_s=1.0)  # the server's heartbeat comes every 5 s
    proxy, page = await _behind_a_proxy(lab, habits)
    page.record(10)
    await lab.acked(page, 10)
    proxy.down.hole = True
    await page.until(lambda: page.closes, lab.within(habits.silent_s + 5))
    proxy.down.hole = False
    await page.until(lambda: len(page.welcomes) == 2, lab.within(15))
    assert page.welcomes[-1]["next"] == 10
    page.record(10)
    await lab.finished(page)


@scenario("F54b", "the page falls silent, TCP stays open: 4000; its token opens the answer again", quick=True)
async def silent_page(lab: Lab) -> None:
    clocks = {"apps.live.conductor:IDLE_MS": 3_000, "apps.live.conductor:HEARTBEAT_MS": 1_000}
    proxy, page = await _behind_a_proxy(lab, clocks=clocks)
    page.record(10)
    await lab.acked(page, 10)
    proxy.up.hole = True
    page.record(10)
    await page.until(lambda: page.closes, lab.within(10))
    proxy.up.hole = False
    assert page.closes[0] in {4000, 1006}, page.closes  # the page's own patience may end first
    lab.expect_trace("closed with 4000: nothing heard for 3 s")
    await page.until(lambda: len(page.welcomes) == 2, lab.within(15))
    first, again = page.welcomes
    assert (again["answer"], again["next"], again["gen"]) == (1, 10, first["gen"] + 1)
    assert again["epoch"] == first["epoch"]
    await lab.acked(page, 20)
    await lab.finished(page)


@scenario("F54c", "nobody comes back within the grace time: the interview is closed with what is there")
async def nobody_comes_back(lab: Lab) -> None:
    page = await lab.page(await lab.site(environment={"RESUME_GRACE_S": "10"}))
    page.record(20)
    await lab.acked(page, 20)
    await page.close_tab()
    await lab.until(
        lambda: Interview.objects.get(public_id=page.visitor.interview).status == "finished", 60, rows=True
    )
    page.come_back(late=True)  # the recording was never handed in: it may still be
    page.hand_in(1)
    await page.until(lambda: page.answers[1].committed, lab.within(30))
    await page.until(lambda: page.ended, lab.within(30))
    assert page.ended == "expired", page.state()


@scenario("F55", "ACKs stall on an open socket, as the disk hangs: the page gives it up, 0 is lost")
async def stalled_acks(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site, habits=Habits(unacked_s=2.0, longest_wait_s=1.0))
    page.record(10)
    await lab.acked(page, 10)
    site.hang_disk(on=True)
    page.record(20)
    heard = len(page.messages)
    await page.until(lambda: page.closes, lab.within(10))
    assert page.closes[0] == 1006, page.state()
    assert not [one for one in list(page.messages)[heard:] if one["type"] == "ack" and one["upto"] > 9]
    lab.expect_trace("spools are not synced in time")
    site.hang_disk(on=False)
    await lab.acked(page, 30)
    await lab.finished(page)
