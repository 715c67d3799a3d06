"""One interview in two tabs: the second asks, one alone records, and a crashed tab holds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import expect

from tests.pages.browser import SPEECH, chromium, playing, shot, speak, visitor
from tests.pages.captured import SHORT_S, WORDS_S

pytestmark = [pytest.mark.browser, pytest.mark.model]


async def test_a_second_tab_asks_and_the_first_lets_go_at_once(site: str, model_dir: Path) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site)
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
        question = await page.inner_text("#progress")
        second = await page.context.new_page()
        await second.goto(page.url)
        await expect(second.locator("#strip")).to_contain_text("open in another tab", timeout=SHORT_S)
        await shot(second, "second-tab")
        await second.click("#strip-other")  # stay there
        await expect(second.locator("#strip-other")).to_be_hidden()
        await expect(page.locator("#done")).to_be_enabled()
        await second.click("#strip-action")  # and yet continue here
        await expect(second.locator("#progress")).to_have_text(question, timeout=WORDS_S)
        await expect(page.locator("#state")).to_have_text("Stopped", timeout=SHORT_S)
        await expect(page.locator("#microphone")).to_have_class("mic-ring off")
        await page.click("#strip-action")  # and back again
        await expect(second.locator("#state")).to_have_text("Stopped", timeout=SHORT_S)
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)


async def test_a_crashed_tab_holds_nothing(site: str, model_dir: Path) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site)
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
        address = page.url
        second = await page.context.new_page()
        with pytest.raises(PlaywrightError):
            await page.goto("chrome://crash")
        await second.goto(address)
        await expect(second.locator("#done")).to_be_enabled(timeout=WORDS_S)
        await expect(second.locator("#strip")).to_be_hidden()


async def test_what_is_pressed_in_a_tab_that_was_left_changes_nothing(site: str, model_dir: Path) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site)
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
        question = await page.inner_text("#progress")
        await page.click("#finish")  # the question whether to finish stands open
        second = await page.context.new_page()
        await second.goto(page.url)
        await second.click("#strip-action", timeout=SHORT_S)  # continue here
        await expect(second.locator("#done")).to_be_enabled(timeout=WORDS_S)
        await expect(page.locator("#state")).to_have_text("Stopped", timeout=SHORT_S)
        await page.click("#finish-yes")
        await page.keyboard.press("Control+Enter")
        for button in ("#done", "#skip", "#finish", "#type"):
            await expect(page.locator(button)).to_be_disabled()
        await expect(page.locator("#strip")).to_contain_text("continued in another tab")
        await expect(page.locator("#saved")).not_to_contain_text("kept on this device")
        await page.click("#strip-action")  # and back again, where nothing was finished or ended
        await expect(page.locator("#done")).to_be_enabled(timeout=WORDS_S)
        await expect(page.locator("#progress")).to_have_text(question)
