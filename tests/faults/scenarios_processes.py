"""Section A of the fault list: web processes that are killed, frozen, stopped and started again."""

from __future__ import annotations

from tests.faults.lab import Lab, scenario


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
    await lab.until(lambda: spool.stat().st_size >= 15 * 3_232)
    assert page.answers[1].acked == 4
    site.web.kill()
    proxy.down.hole = False
    await lab.start(site)
    await page.until(lambda: len(page.welcomes) == 2, lab.within(30))
    assert page.welcomes[-1]["next"] == 15
    await lab.finished(page)
