"""G3 and G4: the web process is killed while many speak: all come back, nothing is lost, one score each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.faults.entry import Habits
from tests.load.microphones import Acks, frame_s, speaking
from tests.load.streams import hand_in, own_cpu_s

if TYPE_CHECKING:
    from tests.faults.client import LivePage
    from tests.faults.lab import Lab
    from tests.faults.site import Site

BACK_WITHIN_S = 120.0
AS_THE_PAGE = Habits(welcome_s=25.0)  # static/js/socket.js waits as long


@dataclass(frozen=True, slots=True)
class Killed:
    """Outages count from the moment the server listens again until the page's next welcome.

    `busy`: the shares of one core that all its servers took together, their starts too; that they took while
    pages came back; and that the pages took.
    """

    name: str
    clients: int
    kills: int
    resumed: int
    outage_p50_s: float
    outage_p95_s: float
    outage_max_s: float
    start_s: float
    server_busy: float
    returning_busy: float
    pages_busy: float
    findings: tuple[str, ...]

    def holds(self, p95_s: float, max_s: float) -> bool:
        all_back = self.resumed == self.clients * self.kills
        return all_back and not self.findings and self.outage_p95_s <= p95_s and self.outage_max_s <= max_s

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.clients} clients, {self.kills} kills, {self.resumed} resumed; outage "
            f"p50 {self.outage_p50_s:.2f} s, p95 {self.outage_p95_s:.2f} s, max {self.outage_max_s:.2f} s "
            f"(the server takes {self.start_s:.1f} s to listen); "
            f"server {self.server_busy:.0%} of a core, {self.returning_busy:.0%} while pages come back, "
            f"pages {self.pages_busy:.0%}; "
            f"{len(self.findings)} findings{''.join(chr(10) + '  ' + line for line in self.findings[:8])}"
        )


class _Processors:
    """CPU of one server after the other, and of the pages, from when they began to speak."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._began, self._pages_s = time.monotonic(), own_cpu_s()
        self._used_s, self._from_s = 0.0, site.web.cpu_s()
        self._returning_s, self._returning_used_s = 0.0, 0.0

    def ends(self) -> None:
        """The server is about to be killed, or the pages to fall silent."""
        self._used_s += self._site.web.cpu_s() - self._from_s
        self._from_s = 0.0  # the next one is a process of its own

    @contextmanager
    def returning(self) -> Iterator[None]:
        began, used_s = time.monotonic(), self._site.web.cpu_s()
        yield
        self._returning_s += time.monotonic() - began
        self._returning_used_s += self._site.web.cpu_s() - used_s

    def shares(self) -> tuple[float, float, float]:
        took_s = time.monotonic() - self._began
        pages = (own_cpu_s() - self._pages_s) / took_s
        return self._used_s / took_s, self._returning_used_s / max(self._returning_s, 1e-9), pages


async def killing(lab: Lab, name: str, *, clients: int, kills: int, every_s: float) -> Killed:
    from tests.faults.invariants import findings

    site = await lab.site(environment={"LOG_LEVEL": "WARNING"})
    pages = await lab.pages_of(site, clients, habits=AS_THE_PAGE)
    outages: list[float] = []
    starts: list[float] = []
    async with speaking(pages, Acks(), frame_s()):
        used = _Processors(site)
        for _ in range(kills):
            await asyncio.sleep(every_s / 2)
            outages += await _killed_and_back(lab, site, pages, used)
            starts.append(site.outer_s)
            await asyncio.sleep(every_s / 2)
        used.ends()
        server_busy, returning_busy, pages_busy = used.shares()
    await hand_in(lab, pages)
    outages.sort()
    return Killed(
        name=name,
        clients=clients,
        kills=kills,
        resumed=len(outages),
        outage_p50_s=outages[len(outages) // 2],
        outage_p95_s=outages[int(len(outages) * 0.95)],
        outage_max_s=outages[-1],
        start_s=max(starts),
        server_busy=server_busy,
        returning_busy=returning_busy,
        pages_busy=pages_busy,
        findings=tuple(await findings(lab)),
    )


async def _killed_and_back(lab: Lab, site: Site, pages: Sequence[LivePage], used: _Processors) -> list[float]:
    before = [len(page.welcomes) for page in pages]
    used.ends()
    site.web.kill()
    await lab.start(site)
    listening = time.monotonic()

    def back() -> bool:
        return all(len(page.welcomes) > count for page, count in zip(pages, before, strict=True))

    with used.returning():
        await lab.until(back, BACK_WITHIN_S)
    return [max(0.0, _welcomed_at(page) - listening) for page in pages]


def _welcomed_at(page: LivePage) -> float:
    latest = next(attempt for attempt in reversed(page.attempts) if attempt.outcome == "welcome")
    return latest.began + latest.took_s
