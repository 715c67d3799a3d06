"""Section A of the fault list: web processes that are killed, frozen, stopped and started again."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import defaultdict
from pathlib import Path

from tests.database import no_writes
from tests.faults.client import Habits
from tests.faults.exchange import ask
from tests.faults.lab import Lab, scenario
from tests.faults.site import Site
from tests.faults.wall_clock import faked

FRAME_ON_DISK = 3_232
DAY_S = 86_400


@scenario("F01", "kill -9 web mid-answer: the page comes back and sends the rest", quick=True)
async def killed_mid_answer(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.record(20)
    await lab.acked(page, 12)
    site.web.kill()
    page.record(20)
    await lab.start(site)
    await lab.acked(page, 40)
    lab.measured("outage", page.outages_s[-1] - site.outer_s)
    assert page.outages_s[-1] - site.outer_s <= lab.within(15)
    await lab.finished(page)


@scenario("F02", "kill -9 web between write and ACK: sent again, stored once", quick=True)
async def killed_before_the_ack(lab: Lab) -> None:
    site = await lab.site()
    proxy = await lab.proxy(site.port)
    page = await lab.page(site, door=proxy.url)
    page.record(5)
    await lab.acked(page, 5)
    proxy.down.hole = True  # from here on no ACK arrives
    page.record(10)
    [spool] = site.spools()
    await lab.until(lambda: spool.stat().st_size >= 15 * FRAME_ON_DISK)
    assert page.answers[1].acked == 4
    site.web.kill()
    proxy.down.hole = False
    await lab.start(site)
    await page.until(lambda: len(page.welcomes) == 2, lab.within(30))
    assert page.welcomes[-1]["next"] == 15
    await lab.finished(page)


@scenario("F03", "kill -9 web after `end`, before commit: one answer, one score, one job", quick=True)
async def killed_before_the_commit(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site, await lab.person(questions=1))
    page.record(20)
    await lab.acked(page, 20)
    with no_writes(site.database_url):
        page.hand_in()
        await lab.until(lambda: page.answers[1].end_said)
        await asyncio.sleep(0.5)
        site.web.kill()
    assert not page.answers[1].committed
    await lab.start(site)
    await page.until(lambda: page.ended, lab.within(30))
    assert page.answers[1].committed


@scenario("F04", "two kills before any progress: the second replay is the same bytes")
async def killed_twice(lab: Lab) -> None:
    site = await lab.site()
    proxy = await lab.proxy(site.port)
    page = await lab.page(site, door=proxy.url)
    sent: dict[bytes, set[bytes]] = defaultdict(set)
    page.tamper = lambda raw: [sent[raw[8:16]].add(raw) or raw]  # type: ignore[func-returns-value]
    page.record(10)
    await lab.acked(page, 10)
    for visit in (2, 3):
        proxy.down.hole = True
        page.record(10)
        await asyncio.sleep(0.2)
        site.web.kill()
        proxy.down.hole = False
        await lab.start(site)
        await page.until(lambda visit=visit: len(page.welcomes) >= visit, lab.within(30))  # type: ignore[misc]
    await lab.acked(page, 30)
    assert all(len(versions) == 1 for versions in sent.values())
    await lab.finished(page)


async def _restart_with(lab: Lab, live: int) -> None:
    site = await lab.site()
    pages = await lab.pages_of(site, live)
    for page in pages:
        page.record(10)
    asked_at = time.monotonic()
    site.web.ask_to_stop()
    await lab.until(lambda: site.web.exited() is not None, lab.within(20))
    lab.measured("exit", time.monotonic() - asked_at)
    assert site.web.exited() == 0, site.web.said[-2_000:]
    assert all(page.closes == [1012] for page in pages), [page.closes for page in pages]
    assert all(page.has("drain", spread_ms=5_000) for page in pages)
    await lab.start(site)
    await asyncio.gather(*(lab.acked(page, 10) for page in pages))
    lab.measured("longest outage", max(page.outages_s[-1] for page in pages) - site.outer_s)
    await lab.finished(*pages)


@scenario("F05", "SIGTERM with 8 live: drain, 1012, back within the spread, 0 lost", quick=True)
async def restarted_with_few(lab: Lab) -> None:
    await _restart_with(lab, 8)


@scenario("F05b", "SIGTERM with 50 live: drain, 1012, back within the spread, 0 lost")
async def restarted_with_many(lab: Lab) -> None:
    await _restart_with(lab, 50)


@scenario("F20", "file descriptors run out: newcomers are put off, live ones unharmed, and it recovers")
async def out_of_descriptors(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.record(5)
    await lab.acked(page, 5)
    before = resource.prlimit(site.web.pid, resource.RLIMIT_NOFILE)
    taken = len(list(Path(f"/proc/{site.web.pid}/fd").iterdir()))
    resource.prlimit(site.web.pid, resource.RLIMIT_NOFILE, (taken + 4, before[1]))
    newcomers = await asyncio.gather(
        *(ask("GET", site.url + "/healthz", within_s=5.0) for _ in range(20)), return_exceptions=True
    )
    told = [reply.status for reply in newcomers if not isinstance(reply, BaseException)]
    assert 503 in told, newcomers
    assert not [status for status in told if status not in {200, 503}], told
    page.record(20)
    await lab.acked(page, 25)
    assert page.closes == []
    resource.prlimit(site.web.pid, resource.RLIMIT_NOFILE, before)
    another = await lab.page(site)
    another.record(5)
    await lab.finished(page, another)
    lab.expect_trace("descriptors: few")


@scenario("F21", "the wall clock jumps a day on and an hour back: a live answer does not notice")
async def clock_jumps(lab: Lab) -> None:
    environment, clock = faked(lab.folder)
    site = await lab.site(environment=environment, clocks={"apps.live.conductor:HEARTBEAT_MS": 1_000})
    page = await lab.page(site)
    for offset in (0, DAY_S, -3_600, -DAY_S, 0):
        clock.write_text(f"{offset:+d}")
        recorded = len(page.answers[1].frames)
        page.record(10)
        await lab.acked(page, recorded + 10)
        heard = len(page.messages)
        await page.until(
            lambda heard=heard: any(one["type"] == "heartbeat" for one in list(page.messages)[heard:]),  # type: ignore[misc]
            lab.within(15),
        )
    assert page.closes == []
    await lab.finished(page)


@scenario("F21b", "the wall clock jumps while a page is away: it comes back all the same")
async def clock_jumps_while_away(lab: Lab) -> None:
    environment, clock = faked(lab.folder)
    site = await lab.site(environment=environment)
    page = await lab.page(site)
    for visit, offset in enumerate((DAY_S, -3_600), 2):
        page.record(10)
        clock.write_text(f"{offset:+d}")
        page.cut()
        await page.until(lambda visit=visit: len(page.welcomes) >= visit, lab.within(15))  # type: ignore[misc]
    await lab.acked(page, 20)
    await lab.finished(page)


IMPATIENT = Habits(silent_s=3.0, unacked_s=1.5, welcome_s=3.0, longest_wait_s=1.0)


async def _frozen(lab: Lab, habits: Habits, seconds: float) -> None:
    site = await lab.site()
    page = await lab.page(site, habits=habits)
    page.record(10)
    await lab.acked(page, 10)
    site.web.freeze()
    page.record(20)
    began = time.monotonic()
    await page.until(
        lambda: page.closes, lab.within(habits.silent_s + 2)
    )  # it does not believe in that socket
    await asyncio.sleep(max(0.0, seconds - (time.monotonic() - began)))
    site.web.thaw()
    thawed_at = time.monotonic()
    await lab.acked(page, 30)
    lab.measured("back after thaw", time.monotonic() - thawed_at)
    await lab.finished(page)


@scenario("F22", "web at SIGSTOP, then SIGCONT: the page gives that socket up and comes back")
async def frozen(lab: Lab) -> None:
    await _frozen(lab, IMPATIENT, 5.0)


@scenario("F22c", "web at SIGSTOP for 20 s with the page's real patience", long=True)
async def frozen_for_long(lab: Lab) -> None:
    await _frozen(lab, Habits(), 20.0)


@scenario("F22b", "web at SIGSTOP, the page fails over to another process: the old one writes no more")
async def failed_over(lab: Lab) -> None:
    site = await lab.site()
    other = Site(site.folder, site.plan)
    other.web.log = site.folder / "other-web.log"
    site.workers.append(other.web)  # its log counts, and it ends with the site
    await lab.start(other)
    proxy = await lab.proxy(site.port)
    page = await lab.page(site, door=proxy.url, habits=IMPATIENT)
    page.record(10)
    await lab.acked(page, 10)
    site.web.freeze()
    page.record(10)
    proxy.target = other.port
    await page.until(lambda: len(page.attempts) > 2, lab.within(20))
    site.web.thaw()  # its socket still believes in itself; the spool is its own until it lets go
    await lab.acked(page, 20)
    assert page.welcomes[-1]["gen"] > page.welcomes[0]["gen"]
    await lab.until(lambda: "closed with 4409" in site.web.said or "closed with 4401" in site.web.said)
    await lab.finished(page)
