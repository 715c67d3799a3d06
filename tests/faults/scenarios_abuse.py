"""Section E of the fault list: crowds, over-large messages, floods and clients that take their time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from tests.faults.client import LivePage
from tests.faults.lab import Lab, scenario
from tests.faults.raw_socket import CUT, raw_socket, welcomed_socket
from tests.faults.site import Site
from tests.load.flood import flood
from tests.load.hostile import BINARY, TEXT, masked
from tests.load.killing import killing
from tests.load.microphones import Acks, speaking

ATTEMPTS = 6
GROWN_MB = 4.0
CUT_WITHIN_S = 15.0
ACK_P95_S = 1.0
DRIP_S = 0.5


async def _storm(lab: Lab, clients: int) -> None:
    found = await killing(lab, "storm", clients=clients, kills=1, every_s=6.0)
    lab.measured("outage p95", found.outage_p95_s)
    lab.measured("max", found.outage_max_s)
    assert found.holds(lab.within(5), lab.within(15)), str(found)


@scenario("F58", "60 pages come back at once after a kill: all resumed, 0 lost", limit_s=240)
async def storm(lab: Lab) -> None:
    await _storm(lab, 60)


@scenario("F58b", "500 pages come back at once after a kill", long=True, limit_s=1_800)
async def large_storm(lab: Lab) -> None:
    await _storm(lab, 500)


async def _too_much(lab: Lab, raw: Callable[[], bytes], codes: set[int], *, welcomed: bool = False) -> None:
    """Sent again and again on new sockets, with a page beside that must not notice."""
    site = await lab.site()
    page = await lab.page(site)
    page.record(5)
    await lab.acked(page, 5)
    person = await lab.person()
    before_mb = highest_mb = 0.0
    for attempt in range(ATTEMPTS):
        socket = await (welcomed_socket if welcomed else raw_socket)(lab, site, person)
        await socket.send(raw())
        code = await socket.closed(lab.within(10))
        assert code in codes, code
        socket.drop()
        if attempt == 0:
            before_mb = site.web.memory_mb()  # what the first one needs stays: threads, buffers
        highest_mb = max(highest_mb, site.web.memory_mb())
    lab.measured("grown by", highest_mb - before_mb, "MB")
    assert highest_mb - before_mb <= GROWN_MB
    page.record(10)
    await lab.acked(page, 15)
    assert page.closes == []
    await lab.finished(page)


@scenario("F60a", "a frame of 64 KiB and a byte: closed with 4413, memory stays")
async def large_frame(lab: Lab) -> None:
    await _too_much(lab, lambda: masked(bytes(65_537), BINARY), {4413}, welcomed=True)
    lab.expect_trace("closed with 4413: message of 65537 bytes")


@scenario("F60b", "a message of 1 MiB and a byte: cut off, memory stays")
async def large_message(lab: Lab) -> None:
    await _too_much(lab, lambda: masked(bytes((1 << 20) + 1), BINARY), {CUT, 1009})
    lab.expect_trace("a message of 1048577 bytes or more; cut off")


@scenario("F60c", "a message announced with 2^62 bytes: cut off, memory stays", quick=True)
async def endless_message(lab: Lab) -> None:
    head = bytes([0x80 | BINARY, 0xFF]) + (1 << 62).to_bytes(8, "big") + bytes(4) + bytes(1_000)
    await _too_much(lab, lambda: head, {CUT, 1009})
    lab.expect_trace("bytes or more; cut off")


@scenario("F60d", "a message in 2,000 fragments: cut off, memory stays")
async def fragments(lab: Lab) -> None:
    first, more = bytes([TEXT, 0x81]), bytes([0, 0x81])
    head = first + bytes(4) + b"x" + (more + bytes(4) + b"x") * 1_999
    await _too_much(lab, lambda: head, {CUT, 1008})
    lab.expect_trace("in more than 64 fragments; cut off")


@scenario("F62", "a client that floods and never reads: 32 MB at most, the others are served", limit_s=240)
async def flooded(lab: Lab) -> None:
    found = await flood(lab, clients=10, seconds=5.0)
    lab.measured("grown by", found.grown_mb, "MB")
    lab.measured("ACK p95", found.flooded_p95_s)
    assert found.holds(lab.patience), str(found)


async def _cut_after(site: Site, head: bytes, drip: bytes, within_s: float) -> float:
    """How long the server stands a client that says `head` and then a bit now and then."""
    began = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    try:
        writer.write(head)
        while time.monotonic() - began < within_s:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRIP_S):
                    if not await reader.read(1_000):
                        return time.monotonic() - began
            writer.write(drip)
            await writer.drain()
    except ConnectionError:
        return time.monotonic() - began
    finally:
        writer.transport.abort()
    raise AssertionError(f"not cut off within {within_s:.0f} s: {head[:20]!r}")


async def _served_meanwhile(lab: Lab, site: Site, slow: Sequence[tuple[bytes, bytes]]) -> None:
    pages: list[LivePage] = await lab.pages_of(site, 3)
    acks = Acks()
    within_s = lab.within(CUT_WITHIN_S)
    async with speaking(pages, acks):
        began = time.monotonic()
        waited_s = await asyncio.gather(*(_cut_after(site, head, drip, within_s) for head, drip in slow))
        ended = time.monotonic()
    lab.measured("longest", max(waited_s))
    lab.measured("ACK p95", acks.quantile_s(0.95, began, ended - 1))
    assert acks.quantile_s(0.95, began, ended - 1) <= lab.within(ACK_P95_S)
    assert all(page.closes == [] for page in pages)
    await lab.finished(*pages)


@scenario(
    "F63",
    "200 idle connections and requests that drip in: cut within 15 s, the others are served",
    limit_s=240,
)
async def slow_clients(lab: Lab) -> None:
    site = await lab.site(environment={"LOG_LEVEL": "WARNING"})
    host = f"Host: 127.0.0.1:{site.port}\r\n".encode()
    idle = [(b"", b"")] * 200
    header = [(b"GET / HTTP/1.1\r\n" + host + b"X-Slow: ", b"x")] * 10
    body = [(b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 100000\r\n\r\n", b"x")] * 10
    await _served_meanwhile(lab, site, [*idle, *header, *body])
    lab.expect_trace("connections cut: idle")
    lab.expect_trace("connections cut: slow_request")
