"""G7: what one hostile client costs the server in memory and the other pages in time.

Pages stream as a microphone does; then attackers flood a session of their own, and sockets before any hello,
and read nothing. Bounds of the design: 32 MB more memory, ACK p95 of the others at most 1 s.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.load.microphones import Acks, speaking

if TYPE_CHECKING:
    from tests.faults.lab import Lab
    from tests.faults.site import Site
    from tests.load.hostile import Attack

RSS_MB = 32.0
ACK_P95_S = 1.0
SETTLE_S = 5.0
SAMPLE_S = 0.1


@dataclass(frozen=True, slots=True)
class Flooded:
    """What was measured. `quiet` is before the attack, `flooded` during it."""

    clients: int
    quiet_p95_s: float
    flooded_p95_s: float
    rss_mb: float
    quiet_grown_mb: float
    grown_mb: float
    sent_mb: float
    connections: int
    frames: int
    complaints: int

    def holds(self, patience: float) -> bool:
        """Memory does not depend on how fast the machine is; time does."""
        return self.grown_mb <= RSS_MB and self.flooded_p95_s <= ACK_P95_S * patience and not self.complaints

    def __str__(self) -> str:
        quiet_ms, flooded_ms = self.quiet_p95_s * 1_000, self.flooded_p95_s * 1_000
        return (
            f"g7 flood: {self.clients} clients; "
            f"ACK p95 {quiet_ms:.0f} ms quiet, {flooded_ms:.0f} ms flooded; RSS {self.rss_mb:.0f} MB, "
            f"grown by {self.grown_mb:+.1f} MB ({self.quiet_grown_mb:+.1f} MB quiet); "
            f"{self.sent_mb:.0f} MB came in over {self.connections} connections; "
            f"{self.frames} frames of the others, {self.complaints} complaints"
        )


async def flood(lab: Lab, *, clients: int = 50, seconds: float = 15.0) -> Flooded:
    """Measure a quiet while, then the same under attack."""
    site = await lab.site(environment={"LOG_LEVEL": "WARNING"})
    pages = await lab.pages_of(site, clients)
    attacks = await _attacks(lab, site)
    acks = Acks()
    async with speaking(pages, acks):
        await asyncio.sleep(SETTLE_S)
        began, settled_mb = time.monotonic(), site.web.memory_mb()
        await asyncio.sleep(seconds)
        attacked, calm_mb = time.monotonic(), site.web.memory_mb()
        highest_mb = await _attacked(site, attacks, attacked + seconds)
        ended = time.monotonic()
    return Flooded(
        clients=clients,
        quiet_p95_s=acks.quantile_s(0.95, began, attacked),
        flooded_p95_s=acks.quantile_s(0.95, attacked, ended),
        rss_mb=highest_mb,
        quiet_grown_mb=calm_mb - settled_mb,
        grown_mb=highest_mb - calm_mb,
        sent_mb=sum(attack.sent_bytes for attack in attacks) / 1e6,
        connections=sum(attack.connections for attack in attacks),
        frames=len(acks.waited_s),
        complaints=sum(len(page.complaints) + len(page.closes) for page in pages),
    )


async def _attacks(lab: Lab, site: Site) -> list[Attack]:
    from tests.faults.client import Visitor
    from tests.load.hostile import TEXT, Attack, audio_blocks, masked, noise_blocks

    person = await lab.person(questions=1)
    visitor = Visitor(site.url, str(person.interview.public_id), person.cookie)
    loop = asyncio.get_running_loop()

    def hello() -> bytes:
        ticket = asyncio.run_coroutine_threadsafe(lab.rows(person.ticket), loop).result(30)
        return masked(json.dumps({"type": "hello", "ticket": ticket}).encode(), TEXT)

    return [
        Attack("own session", visitor, hello, audio_blocks(120)),
        Attack("before hello", visitor, lambda: b"", noise_blocks()),
    ]


async def _attacked(site: Site, attacks: Sequence[Attack], until: float) -> float:
    """The most memory the server had meanwhile."""
    running = [asyncio.create_task(asyncio.to_thread(attack.run, until)) for attack in attacks]
    highest_mb = 0.0
    while time.monotonic() < until:
        highest_mb = max(highest_mb, site.web.memory_mb())
        await asyncio.sleep(SAMPLE_S)
    await asyncio.gather(*running)
    return highest_mb


async def measured(clients: int, seconds: float, patience: float) -> Flooded:
    from tests.load.stage import stage

    async with stage(patience) as lab:
        return await flood(lab, clients=clients, seconds=seconds)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status is 1 when a bound does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.load g7", description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=15.0, help="of each half")
    parser.add_argument("--patience", type=float, default=1.0, help="stretches the bound on time")
    options = parser.parse_args(argv)
    from tests.load.stage import prepare_django

    prepare_django()
    found = asyncio.run(measured(options.clients, options.seconds, options.patience))
    print(found)
    return 0 if found.holds(options.patience) else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
