"""Section A of the fault list: full disks, rotten files, databases that are locked, restarted, gone."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

from tests.database import no_writes
from tests.faults.client import LivePage
from tests.faults.lab import Lab, scenario
from tests.faults.processes import Unavailable
from tests.faults.site import Site
from tests.postgres import NoPostgres, PostgresServer

FILE_HEADER = 32
FRAME_ON_DISK = 3_232


async def _postgres(lab: Lab) -> PostgresServer:
    folder = lab.folder / "postgres"
    folder.mkdir()
    try:
        server = await asyncio.to_thread(PostgresServer, folder)
    except NoPostgres as missing:
        raise Unavailable(str(missing)) from missing
    lab.closing.callback(server.kill)
    server.start()
    server.run("CREATE DATABASE viva")
    return server


async def _postgres_site(lab: Lab) -> tuple[PostgresServer, Site]:
    server = await _postgres(lab)
    return server, await lab.site(database_url=server.url())


@scenario("F15", "`database is locked` for 4 s: audio goes on, rows follow")
async def database_locked(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.record(10)
    await lab.acked(page, 10)
    with no_writes(site.database_url):
        page.record(10)
        await lab.acked(page, 20)  # the recording does not wait for the database
        page.hand_in()
        await asyncio.sleep(4.0)
        assert not page.answers[1].committed
        assert (await site.ask("GET", "/")).status == 200
    await page.until(lambda: page.answers[1].committed, lab.within(30))
    await page.until(lambda: page.open_answer == 2, lab.within(30))
    page.record(5)
    await lab.finished(page)


@scenario("F15b", "PostgreSQL restarted in mid-answer: 0 lost, no 500")
async def postgres_restarted(lab: Lab) -> None:
    server, site = await _postgres_site(lab)
    page = await lab.page(site)
    page.record(10)
    await lab.acked(page, 10)
    await asyncio.to_thread(server.restart)
    page.record(10)
    await lab.acked(page, 20)
    another = await lab.page(site)
    another.record(5)
    await lab.finished(page, another)


async def _without_database(lab: Lab, seconds: float) -> None:
    server, site = await _postgres_site(lab)
    page = await lab.page(site)
    page.record(10)
    await lab.acked(page, 10)
    server.stop()
    page.record(20)
    await lab.acked(page, 30)
    page.hand_in()
    newcomer = await site.ask("GET", "/", within_s=lab.within(10))  # type: ignore[arg-type]
    assert (newcomer.status, "retry-after" in newcomer.headers) == (503, True), newcomer
    await asyncio.sleep(seconds)
    assert not page.answers[1].committed
    server.start()
    await page.until(lambda: page.answers[1].committed, lab.within(30))
    await page.until(lambda: page.open_answer == 2, lab.within(30))
    page.record(5)
    await lab.finished(page)
    lab.expect_trace("database not ready")


@scenario("F16", "database gone for a while: audio is kept and promised, the end waits, newcomers get 503")
async def database_gone(lab: Lab) -> None:
    await _without_database(lab, 4.0)


@scenario("F16b", "database gone for 60 s", long=True, limit_s=300)
async def database_gone_for_long(lab: Lab) -> None:
    await _without_database(lab, 60.0)


def _small_disk(lab: Lab, folder: Path, size: str) -> None:
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        raise Unavailable("mounting a small disk needs root")
    lab.closing.callback(subprocess.run, ["umount", "-l", str(folder)], check=False)


@scenario("F17", "disk full under the spool: no ACK, storage_full, and on when there is room")
async def disk_full(lab: Lab) -> None:
    site = await lab.site(web=False)
    spool = site.folder / "spool"
    _small_disk(lab, spool, "128k")
    await lab.start(site)
    page = await lab.page(site)
    ballast = spool / "ballast"
    ballast.write_bytes(bytes(90_000))
    page.record(40)
    await page.until(lambda: page.has("problem", code="storage_full"), lab.within(30))
    await page.until(lambda: page.has("ack", window=0), lab.within(30))
    assert page.answers[1].acked < 30
    ballast.unlink()
    await page.until(lambda: page.answers[1].acked >= 25, lab.within(30))
    subprocess.run(["mount", "-o", "remount,size=1m", str(spool)], check=True)
    await lab.acked(page, 40)
    await lab.finished(page)


async def _away(lab: Lab, frames: int) -> tuple[Site, LivePage, Path]:
    """A page with so many promised frames, and its web process killed."""
    site = await lab.site()
    page = await lab.page(site)
    page.record(frames)
    await lab.acked(page, frames)
    [spool] = site.spools()
    site.web.kill()
    return site, page, spool


@scenario("F18", "a torn last frame after a kill: cut off, sent again, stored once")
async def torn_tail(lab: Lab) -> None:
    site, page, spool = await _away(lab, 10)
    page.record(5)
    torn = page.answers[1].frames[10][:1_376]  # what write() returned before ENOSPC, as measured
    with spool.open("ab") as file:
        file.write(torn)
    await lab.start(site)
    await lab.acked(page, 15)
    assert page.welcomes[-1]["next"] == 10
    assert page.welcomes[-1]["epoch"] == page.welcomes[0]["epoch"]
    await lab.finished(page)
    lab.expect_trace("spool tail of 1376 bytes cut off")


@scenario("F18b", "a bit flipped in the spool: put aside, a new epoch, uploaded again", quick=True)
async def flipped_bit(lab: Lab) -> None:
    site, page, spool = await _away(lab, 10)
    content = bytearray(spool.read_bytes())
    content[FILE_HEADER + 4 * FRAME_ON_DISK + 100] ^= 1
    spool.write_bytes(content)
    await lab.start(site)
    await page.until(lambda: len(page.welcomes) == 2, lab.within(30))
    assert page.welcomes[-1]["next"] == 0
    assert page.welcomes[-1]["epoch"] != page.welcomes[0]["epoch"]
    await lab.acked(page, 10)
    assert len(list(spool.parent.glob("*.damaged"))) == 1
    await lab.finished(page)
    lab.expect_trace("spool put aside")


@scenario("F19", "the spool is gone: another epoch, the answer starts again at 0")
async def spool_gone(lab: Lab) -> None:
    site, page, spool = await _away(lab, 10)
    shutil.rmtree(spool.parent)
    await lab.start(site)
    await page.until(lambda: len(page.welcomes) == 2, lab.within(30))
    assert page.welcomes[-1]["next"] == 0
    assert page.welcomes[-1]["epoch"] != page.welcomes[0]["epoch"]
    page.record(5)
    await lab.acked(page, 15)
    await lab.finished(page)


@scenario("F19b", "the spool comes back from an old backup: the page sends what it lacks")
async def old_backup(lab: Lab) -> None:
    site = await lab.site()
    page = await lab.page(site)
    page.record(10)
    await lab.acked(page, 10)
    [spool] = site.spools()
    backup = spool.read_bytes()[: FILE_HEADER + 5 * FRAME_ON_DISK]
    page.record(10)
    await lab.acked(page, 20)
    site.web.kill()
    spool.write_bytes(backup)
    page.answers[1].forget_promises_beyond(5)  # the operator broke them, not the site
    await lab.start(site)
    await lab.acked(page, 20)
    await lab.finished(page)
