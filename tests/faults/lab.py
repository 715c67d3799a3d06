"""What a scenario gets: a site, people, pages, patience; and the decorator that names it.

    @scenario("F01", "kill -9 web mid-answer", quick=True)
    async def killed_mid_answer(lab: Lab) -> None:
        site = await lab.site()
        page = await lab.page(site)
        page.record(20)
        ...

Bounds of the design are multiplied by `lab.patience`: `lab.within(15)`. Correctness is never stretched. What
is measured is told with `lab.measured("outage", 1.2)` and printed beside the scenario. Raise Unavailable
where the machine lacks the means. Afterwards the runner looks at I1 to I6 by itself (invariants.py).
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from celery import current_app
from django.core.management import call_command
from django.db import connections
from environ import Env

from tests.faults import bystanders
from tests.faults.client import Habits, LivePage, Visitor
from tests.faults.proxy import Proxy
from tests.faults.redis_server import RedisServer
from tests.faults.site import START_S, Plan, Site
from tests.live.stack import Person

T = TypeVar("T")
WAIT_S = 30.0
ARRIVING = 40  # pages that fetch their ticket at the same time
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Scenario:
    """`long` ones wait in real time and run only when asked for. `limit_s`: killed beyond it."""

    id: str
    title: str
    run: Callable[[Lab], Awaitable[None]]
    quick: bool = False
    long: bool = False
    limit_s: float = 150.0


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    key: str, title: str, *, quick: bool = False, long: bool = False, limit_s: float = 150.0
) -> Callable[[Callable[[Lab], Awaitable[None]]], Callable[[Lab], Awaitable[None]]]:
    def named(run: Callable[[Lab], Awaitable[None]]) -> Callable[[Lab], Awaitable[None]]:
        assert key not in SCENARIOS, f"two scenarios are called {key}"
        SCENARIOS[key] = Scenario(key, title, run, quick, long, limit_s)
        return run

    return named


@dataclass(slots=True)
class Lab:
    """The means of one scenario. Everything made here is closed at its end."""

    folder: Path
    migrated: Path  # a SQLite file with all tables
    patience: float = 3.0
    seed: int = 0
    sites: list[Site] = field(default_factory=list)
    pages: list[LivePage] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    spared: dict[str, Any] = field(default_factory=dict)
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)

    def within(self, seconds: float) -> float:
        """The design's bound, stretched for a shared machine."""
        return seconds * self.patience

    def measured(self, name: str, value: float, unit: str = "s") -> None:
        self.figures.append(f"{name} {value:.2f} {unit}".rstrip())

    def expect_trace(self, pattern: str) -> None:
        """I4: by the scenario's end a log line or a metric's line matches, which tells of the fallback."""
        self.traces.append(pattern)

    async def site(self, plan: Plan | None = None, *, web: bool = True, **parts: Any) -> Site:
        """A migrated site with somebody else's organisation in it, listening unless `web` is False."""
        site = Site(self.folder / f"site{len(self.sites)}", replace(plan or Plan(), **parts))
        site.folder.mkdir(parents=True)
        _use(site)
        if not site.plan.database_url:
            shutil.copyfile(self.migrated, site.database_file)
        else:
            await self.rows(lambda: call_command("migrate", verbosity=0))
        self.sites.append(site)
        self.closing.callback(site.close)
        self.spared = await self.rows(lambda: bystanders.make(site.folder))
        if web:
            await self.start(site)
        return site

    async def start(self, site: Site) -> None:
        site.start_web()
        await self.until(site.listens, START_S)

    async def person(self, **options: Any) -> Person:
        return await self.rows(lambda: Person(**options))

    async def page(
        self, site: Site, person: Person | None = None, *, door: str = "", habits: Habits | None = None
    ) -> LivePage:
        """A page that has been welcomed and may record. `door`: another address, such as a proxy's."""
        page = await self.closed_page(site, person, door=door, habits=habits)
        page.come_back()
        await page.until(lambda: page.link and page.open_answer, self.within(WAIT_S))
        return page

    async def closed_page(
        self, site: Site, person: Person | None = None, *, door: str = "", habits: Habits | None = None
    ) -> LivePage:
        """The same, not opened yet."""
        who = person or await self.person()
        visitor = Visitor(door or site.url, str(who.interview.public_id), who.cookie)
        page = LivePage(visitor, seed=self.seed * 1_000 + len(self.pages), habits=habits)
        self.pages.append(page)
        self.closing.push_async_callback(page.close_tab)
        return page

    async def pages_of(self, site: Site, count: int, **options: Any) -> list[LivePage]:
        """They arrive one after the other, as people do: it is their return that comes all at once."""
        people = [await self.person(questions=1) for _ in range(count)]
        arriving = asyncio.Semaphore(ARRIVING)

        async def arrives(person: Person) -> LivePage:
            async with arriving:
                return await self.page(site, person, **options)

        return list(await asyncio.gather(*map(arrives, people)))

    async def proxy(self, port: int) -> Proxy:
        return await self.closing.enter_async_context(Proxy(port, seed=self.seed))

    async def redis(self, *, aof: bool = True) -> RedisServer:
        server = RedisServer(self.folder / "redis", aof=aof)
        self.closing.callback(server.kill)
        server.start()
        await self.until(server.answers, START_S)
        return server

    async def worker(self, site: Site, **environment: str) -> Any:
        worker = site.add_worker(**environment)
        await self.until(lambda: self._is_ready(worker), START_S)
        return worker

    def _is_ready(self, worker: Any) -> bool:
        assert worker.alive, worker.said[-2_000:]
        return "ready." in worker.said

    async def rows(self, work: Callable[[], T]) -> T:
        """Database work, in a thread whose connection does not outlive it."""

        def worked() -> T:
            try:
                return work()
            finally:
                connections.close_all()

        return await asyncio.to_thread(worked)

    async def until(self, true: Callable[[], Any], within_s: float = 0.0, *, rows: bool = False) -> Any:
        """Poll until it holds. `rows`: it reads the database."""
        within_s = within_s or self.within(WAIT_S)
        deadline = time.monotonic() + within_s
        while not (found := await self.rows(true) if rows else true()):
            assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {self._sight()}"
            await asyncio.sleep(POLL_S)
        return found

    async def acked(self, page: LivePage, frames: int, answer: int = 1) -> None:
        """Wait until so many frames are promised."""
        kept = page.answers[answer]
        await page.until(lambda: kept.acked >= frames - 1, self.within(WAIT_S))

    async def finished(self, *pages: LivePage) -> None:
        """Hand the open answer in and wait for the interview's end; questions that follow are skipped."""
        await asyncio.gather(*(self._finished(page) for page in pages))

    async def _finished(self, page: LivePage) -> None:
        page.hand_in()
        answer = page.open_answer
        await page.until(lambda: page.answers[answer].committed, self.within(WAIT_S))
        await page.say(type="finish")
        await page.until(lambda: page.ended or page.stopped, self.within(WAIT_S))
        assert page.ended == "completed", page.state()

    def _sight(self) -> str:
        return "; ".join(page.state() for page in self.pages[:4])

    def logs(self) -> str:
        return "\n".join(site.logs() for site in self.sites)

    def has_logged(self, pattern: str) -> bool:
        return re.search(pattern, self.logs()) is not None


def _use(site: Site) -> None:
    """This process's rows and doorbell are the site's. Each scenario has a process of its own."""
    config = Env.db_url_config(site.database_url)
    if site.database_url.startswith("sqlite"):
        config["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 60}
    connections.settings["default"] = connections.configure_settings({"default": config})["default"]
    current_app.conf.broker_url = site.plan.redis_url + "/0"
