"""Section D with a real Chromium: what the page itself keeps when the network or the browser goes."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.async_api import BrowserContext, Page, expect

from tests.faults.lab import Lab, scenario
from tests.faults.processes import Unavailable
from tests.faults.proxy import Proxy
from tests.live.stack import Person
from tests.pages.browser import SPEECH, kill, lasting, playing
from tests.pages.captured import SHORT_S, WORDS_S, Captured, all_saved, kept_s, recording_of
from tests.pages.visit import looks_like_a_model


async def _voice_site(lab: Lab) -> tuple[Proxy, Person]:
    """A site whose pages offer the microphone, behind a proxy, and somebody with an interview there."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        raise Unavailable("no Chromium on this machine")
    site = await lab.site(environment={"ASR_MODEL": looks_like_a_model(lab.folder / "deaf")})
    return await lab.proxy(site.port), await lab.person(questions=1)


async def _enter(context: BrowserContext, proxy: Proxy, person: Person) -> Page:
    """The page of the interview, for somebody who has just come or comes back with the same login."""
    name, _, value = person.cookie.partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": proxy.url}])
    return context.pages[0]


async def _speak(page: Page, proxy: Proxy, person: Person) -> None:
    await page.goto(f"{proxy.url}/interviews/{person.interview.public_id}/microphone/")
    await page.click("#turn-on")
    await expect(page.locator("#start")).to_be_visible(timeout=SHORT_S)
    await page.click("#start")
    await all_saved(page)


def _profile(lab: Lab) -> Path:
    return lab.folder / "profile"


@scenario("F50e", "Chromium: the network goes in mid answer and comes back: no hole, no repeat")
async def network_cut_in_a_browser(lab: Lab) -> None:
    proxy, person = await _voice_site(lab)
    captured = Captured()
    async with lasting(_profile(lab), *playing(SPEECH)) as context:
        await captured.listen(context)
        page = await _enter(context, proxy, person)
        await _speak(page, proxy, person)
        proxy.hole(on=True)
        await context.set_offline(True)
        await expect(page.locator("#state")).to_have_text(
            "Offline: recording on this device", timeout=SHORT_S
        )
        await kept_s(page, 4)
        proxy.hole(on=False)
        await context.set_offline(False)
        await all_saved(page)
        await page.click("#done")
        pcm = await recording_of(page, str(person.interview.public_id))
    head, end = captured.run_in(pcm)
    assert captured.length(head, end) == len(pcm)


@scenario("F51", "Chromium killed and opened again: what its device had kept arrives")
async def browser_killed(lab: Lab) -> None:
    proxy, person = await _voice_site(lab)
    captured = Captured()
    async with lasting(_profile(lab), *playing(SPEECH)) as context:
        await captured.listen(context)
        page = await _enter(context, proxy, person)
        await _speak(page, proxy, person)
        proxy.hole(on=True)
        await kept_s(page, 1)
        before = len(captured.frames)
        await kept_s(page, 5)  # by now the device has those
        kill(_profile(lab))
    first = len(captured.frames)
    proxy.hole(on=False)
    async with lasting(_profile(lab), *playing(SPEECH)) as context:
        await captured.listen(context)
        page = await _enter(context, proxy, person)
        await page.goto(f"{proxy.url}/interviews/{person.interview.public_id}/")
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
        await all_saved(page)
        await page.click("#done")
        pcm = await recording_of(page, str(person.interview.public_id))
    head, end = captured.run_in(pcm, stop=first)
    taken = captured.length(head, end)
    assert end >= before, "frames that the device had kept did not arrive"
    again, last = captured.run_in(pcm, taken, first)
    assert taken + captured.length(again, last) == len(pcm)
