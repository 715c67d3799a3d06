"""The network goes in mid answer, the browser dies: what was said reaches the server whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.faults.proxy import Proxy
from tests.pages.browser import SPEECH, kill, lasting, playing, shot, speak
from tests.pages.captured import (
    WORDS_S,
    Captured,
    all_saved,
    interview_of,
    kept_s,
    recording_of,
    speaking_through_a_proxy,
)
from tests.pages.visit import Site

pytestmark = [pytest.mark.browser, pytest.mark.model]


async def test_a_network_that_was_away_leaves_no_hole_and_no_repeat(
    site_server: Site, model_dir: Path
) -> None:
    async with speaking_through_a_proxy(site_server) as (page, proxy, captured):
        proxy.hole(on=True)
        await page.context.set_offline(True)
        await expect(page.locator("#state")).to_have_text("Offline: recording on this device")
        await kept_s(page, 8)
        await shot(page, "offline")
        proxy.hole(on=False)
        await page.context.set_offline(False)
        await expect(page.locator("#bar")).not_to_have_attribute("data-state", "watch", timeout=WORDS_S)
        earlier = page.locator(".earlier-answer p")
        await expect(earlier).to_contain_text("five engineers", timeout=WORDS_S)
        await expect(earlier).to_contain_text("responsible for fixing it")
        await expect(earlier).to_contain_text("no outage on the next sale day")
        await expect(earlier).not_to_contain_text("missing")
        pcm = await recording_of(page, await interview_of(page))
        head, end = captured.run_in(pcm)
        assert captured.length(head, end) == len(pcm)


async def test_what_a_killed_browser_had_kept_arrives_when_it_is_opened_again(
    site_server: Site, model_dir: Path, tmp_path: Path
) -> None:
    profile, captured = tmp_path / "profile", Captured()
    async with Proxy(site_server.port) as proxy:
        async with lasting(profile, *playing(SPEECH)) as context:
            await captured.listen(context)
            page = context.pages[0]
            await speak(page, proxy.url)
            await all_saved(page)
            address, interview = page.url, await interview_of(page)
            cookies = [(cookie["name"], cookie["value"]) for cookie in await context.cookies()]
            proxy.hole(on=True)
            await kept_s(page, 1)
            before = len(captured.frames)
            await kept_s(page, 9)  # by now the device has those
            kill(profile)
        first = len(captured.frames)
        proxy.hole(on=False)
        async with lasting(profile, *playing(SPEECH)) as context:
            # Chromium itself writes cookies down every half minute only.
            await context.add_cookies([{"name": n, "value": v, "url": proxy.url} for n, v in cookies])
            await captured.listen(context)
            page = context.pages[0]
            await page.goto(address)
            await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
            await all_saved(page)
            await page.click("#done")
            pcm = await recording_of(page, interview)
    head, end = captured.run_in(pcm, stop=first)
    taken = captured.length(head, end)
    assert end >= before
    again, last = captured.run_in(pcm, taken, first)
    assert taken + captured.length(again, last) == len(pcm)
