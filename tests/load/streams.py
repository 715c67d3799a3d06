"""G1 and G2: many pages speak for a minute. Nothing lost, nothing twice, and each frame is promised in time.

Afterwards every answer is handed in, and what the server kept is compared with what was sent, byte by byte.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.load.microphones import Acks, frame_s, speaking

if TYPE_CHECKING:
    from tests.faults.client import LivePage
    from tests.faults.lab import Lab

SETTLE_S = 3.0
HAND_IN_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Streamed:
    """`busy`: the share of one core that the server and the pages each took while all spoke."""

    name: str
    clients: int
    seconds: float
    ack_p50_s: float
    ack_p95_s: float
    base_mb: float
    highest_mb: float
    server_busy: float
    pages_busy: float
    committed_s: float
    frames: int
    findings: tuple[str, ...]

    def holds(self, ack_p95_s: float, memory_mb: float) -> bool:
        return not self.findings and self.ack_p95_s <= ack_p95_s and self.highest_mb <= memory_mb

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.clients} clients, {self.seconds:.0f} s, {self.frames} frames; "
            f"ACK p50 {self.ack_p50_s * 1_000:.0f} ms, p95 {self.ack_p95_s * 1_000:.0f} ms; "
            f"RSS {self.base_mb:.0f} -> {self.highest_mb:.0f} MB; server {self.server_busy:.0%} of a core, "
            f"pages {self.pages_busy:.0%}; all committed after {self.committed_s:.1f} s; "
            f"{len(self.findings)} findings{''.join(chr(10) + '  ' + line for line in self.findings[:8])}"
        )


async def streams(lab: Lab, name: str, *, clients: int, seconds: float) -> Streamed:
    from tests.faults.invariants import findings

    site = await lab.site(environment={"LOG_LEVEL": "WARNING"})
    base_mb = site.web.memory_mb()
    pages = await lab.pages_of(site, clients)
    acks = Acks()
    async with speaking(pages, acks, frame_s()):
        await asyncio.sleep(SETTLE_S)
        began, server, mine = time.monotonic(), site.web.cpu_s(), own_cpu_s()
        highest_mb = 0.0
        while time.monotonic() < began + seconds:
            await asyncio.sleep(1)
            highest_mb = max(highest_mb, site.web.memory_mb())
        ended = time.monotonic()
        busy = (site.web.cpu_s() - server) / (ended - began), (own_cpu_s() - mine) / (ended - began)
    await hand_in(lab, pages)
    committed_s = time.monotonic() - ended
    return Streamed(
        name=name,
        clients=clients,
        seconds=seconds,
        ack_p50_s=acks.quantile_s(0.5, began, ended - 1),
        ack_p95_s=acks.quantile_s(0.95, began, ended - 1),
        base_mb=base_mb,
        highest_mb=highest_mb,
        server_busy=busy[0],
        pages_busy=busy[1],
        committed_s=committed_s,
        frames=len(acks.waited_s),
        findings=tuple(await findings(lab)),
    )


async def hand_in(lab: Lab, pages: Sequence[LivePage]) -> None:
    """A few at a time, as people do who do not finish in the same second."""
    turnstile = asyncio.Semaphore(HAND_IN_AT_ONCE)

    async def one(page: LivePage) -> None:
        async with turnstile:
            await lab.finished(page)

    await asyncio.gather(*(one(page) for page in pages))


def own_cpu_s() -> float:
    """CPU that this process, which plays the pages, has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
