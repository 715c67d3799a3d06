"""Section D of the fault list in a real Chromium: its page says what it does, and keeps what it holds."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.faults.lab import Lab, scenario
from tests.faults.processes import Unavailable
from tests.faults.proxy import Proxy
from tests.live.stack import Person
from tests.pages.browser import SPEECH, kill, lasting, playing
from tests.pages.captured import SHORT_S, WORDS_S, Captured, all_saved, kept_s, recording_of
from tests.pages.visit import looks_like_a_model

LONG_SPEECH = SPEECH.with_name("long_answer.wav")
NARROW = 16 * 1_024.0


@asynccontextmanager
async def _browser(
    lab: Lab, door: str, cookies: Mapping[str, str], captured: Captured
) -> AsyncIterator[tuple[BrowserContext, Page]]:
    """The same profile each time, as on a visitor's own machine."""
    try:
        async with lasting(lab.folder / "profile", *playing(LONG_SPEECH)) as context:
            await context.add_cookies(
                [{"name": name, "value": value, "url": door} for name, value in cookies.items()]
            )
            await captured.listen(context)
            yield context, context.pages[0]
    except pytest.skip.Exception as missing:
        raise Unavailable(str(missing)) from missing


async def _stage(lab: Lab) -> tuple[Proxy, Person, dict[str, str]]:
    """A site that hears, behind a proxy, and somebody with an interview."""
    model = looks_like_a_model(lab.folder / "deaf")
    site = await lab.site(environment={"ASR_MODEL": model})
    person = await lab.person()
    name, _, value = person.cookie.partition("=")
    return await lab.proxy(site.port), person, {name: value}


async def _speak(page: Page, door: str, person: Person) -> str:
    """From the microphone check to the live page; returns its address."""
    await page.goto(f"{door}/interviews/{person.interview.public_id}/microphone/")
    await page.click("#turn-on")
    await expect(page.locator("#start")).to_be_visible(timeout=SHORT_S)
    await page.click("#start")
    await all_saved(page)
    return page.url


@scenario("F51", "Chromium killed with -9 and opened again: what it had not sent arrives", limit_s=240)
async def browser_killed(lab: Lab) -> None:
    proxy, person, cookies = await _stage(lab)
    captured = Captured()
    async with _browser(lab, proxy.url, cookies, captured) as (_, page):
        address = await _speak(page, proxy.url, person)
        sent = len(captured.frames)
        proxy.hole(on=True)
        await kept_s(page, 1)
        before = len(captured.frames)
        await kept_s(page, 9)  # by now the device has those
        kill(lab.folder / "profile")
    first = len(captured.frames)
    proxy.hole(on=False)
    async with _browser(lab, proxy.url, cookies, captured) as (_, page):
        await page.goto(address)
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
        await all_saved(page)
        await page.click("#done")
        pcm = await recording_of(page, str(person.interview.public_id))
    head, end = captured.run_in(pcm, stop=first)
    taken = captured.length(head, end)
    lab.measured("captured", first / 10)
    lab.measured("of them arrived", (end - head) / 10)
    assert end >= before > sent
    again, last = captured.run_in(pcm, taken, first)
    assert taken + captured.length(again, last) == len(pcm)


@scenario("F53f", "16 KB/s in a real page: it says that it falls behind, and catches up", limit_s=240)
async def narrow_page(lab: Lab) -> None:
    proxy, person, cookies = await _stage(lab)
    captured = Captured()
    async with _browser(lab, proxy.url, cookies, captured) as (_, page):
        await _speak(page, proxy.url, person)
        proxy.up.bandwidth = NARROW
        behind = re.compile(r"\b([3-9]|[1-9]\d) s(…| kept on this device| wait in this page)")
        await expect(page.locator("#saved")).to_have_text(behind, timeout=SHORT_S)
        proxy.up.bandwidth = 0
        await all_saved(page)
        await page.click("#done")
        pcm = await recording_of(page, str(person.interview.public_id))
    head, end = captured.run_in(pcm)
    assert captured.length(head, end) == len(pcm)


@scenario("F50e", "the network goes under a real page and comes back: no hole, no repeat", limit_s=240)
async def network_cut_under_a_page(lab: Lab) -> None:
    proxy, person, cookies = await _stage(lab)
    captured = Captured()
    async with _browser(lab, proxy.url, cookies, captured) as (context, page):
        await _speak(page, proxy.url, person)
        proxy.hole(on=True)
        await context.set_offline(True)
        offline = "Offline: recording on this device"
        await expect(page.locator("#state")).to_have_text(offline, timeout=SHORT_S)
        await kept_s(page, 5)
        proxy.hole(on=False)
        await context.set_offline(False)
        await all_saved(page)
        await page.click("#done")
        pcm = await recording_of(page, str(person.interview.public_id))
    head, end = captured.run_in(pcm)
    assert captured.length(head, end) == len(pcm)
