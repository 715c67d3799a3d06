"""A page comes back by itself: from a silent line, a restarted server, a reload; what it missed is fetched again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from tests.faults.proxy import Proxy
from tests.pages.browser import SPEECH, agree, chromium, playing, shot, speak, visitor
from tests.pages.captured import SHORT_S, WORDS_S, Captured, all_saved, interview_of, recording_of
from tests.pages.visit import Site

pytestmark = [pytest.mark.browser, pytest.mark.model]


async def is_whole(page: Page, captured: Captured) -> None:
    """End the answer; its recording is what was captured, from its first frame on."""
    await page.click("#done")
    pcm = await recording_of(page, await interview_of(page))
    head, end = captured.run_in(pcm)
    assert captured.length(head, end) == len(pcm)


async def test_a_line_that_died_without_a_word_is_found_and_replaced(
    site_server: Site, model_dir: Path
) -> None:
    captured = Captured()
    async with (
        Proxy(site_server.port) as proxy,
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, torn=True) as page,
    ):
        await captured.listen(page.context)
        await speak(page, proxy.url)
        await all_saved(page)
        proxy.hole(on=True)
        await expect(page.locator("#state")).to_contain_text("Reconnecting", timeout=SHORT_S)
        proxy.hole(on=False)
        await all_saved(page)
        await is_whole(page, captured)


async def test_a_restarted_server_costs_no_word_and_no_reload(site_server: Site, model_dir: Path) -> None:
    captured = Captured()
    async with chromium(*playing(SPEECH)) as browser, visitor(browser, torn=True) as page:
        await captured.listen(page.context)
        await speak(page, site_server.address)
        await all_saved(page)
        await page.evaluate("document.body.dataset.notReloaded = 'yes'")
        site_server.stop()
        await expect(page.locator("#bar")).to_have_attribute("data-state", "watch", timeout=SHORT_S)
        site_server.start()
        await expect(page.locator("#bar")).not_to_have_attribute("data-state", "watch", timeout=WORDS_S)
        await all_saved(page)
        await expect(page.locator("body")).to_have_attribute("data-not-reloaded", "yes")
        await is_whole(page, captured)


async def seconds_left(page: Page) -> int:
    minutes, seconds = re.findall(r"\d+", await page.inner_text("#time-left"))
    return int(minutes) * 60 + int(seconds)


async def test_a_reloaded_page_returns_to_the_question_its_words_and_its_second(
    site: str, model_dir: Path
) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site)
        await expect(page.locator("#words")).to_contain_text("five engineers", timeout=WORDS_S)
        question, left_s = await page.inner_text("#question"), await seconds_left(page)
        await page.reload()
        await expect(page.locator("#question")).to_have_text(question, timeout=SHORT_S)
        await expect(page.locator("#words")).to_contain_text("five engineers", timeout=WORDS_S)
        await expect(page.locator("#bar")).not_to_have_attribute("data-state", "watch", timeout=SHORT_S)
        await expect(page.locator("#time-left")).to_contain_text("left")
        assert await seconds_left(page) <= left_s < 180  # the time did not begin again
        await expect(page.locator("#strip")).to_be_hidden()


async def test_what_a_report_missed_while_the_network_was_away_is_fetched_again(site: str) -> None:
    asked: list[str] = []

    async def torn(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) <= 2:
            await route.abort()
        else:
            await route.continue_()

    async with chromium() as browser, visitor(browser, torn=True) as page:
        await page.route("**/report/?since=*", torn)
        await agree(page, site)
        await page.click("a[href$='?input=text']")
        await expect(page.locator("#progress")).to_have_text("Question 1 of 5", timeout=SHORT_S)
        await page.fill("#typed", "I led the rewrite of our queue and cut its delay from 900 to 90 ms.")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#feedback")).to_have_attribute("data-state", "final", timeout=WORDS_S)
        await page.click("#finish")
        await page.click("#finish-yes")
        await page.wait_for_url("**/report/", timeout=SHORT_S)
        await expect(page.locator("[hx-get]")).to_have_count(0, timeout=WORDS_S)
        await expect(page.locator(".overall")).to_be_visible()
        await shot(page, "report-after-a-gap")
