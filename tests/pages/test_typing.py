"""A typed answer that comes too late, in a real browser: said in words, and still in the box."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import WebSocketRoute, expect

from tests.pages.browser import agree, chromium, visitor

pytestmark = [pytest.mark.browser]

TEXT = "I led the rewrite of the queue consumer."


def closing_before_the_text(route: WebSocketRoute) -> None:
    """The first question closes on the server just before what was typed for it arrives."""
    server = route.connect_to_server()

    def passed(message: str | bytes) -> None:
        said = json.loads(message) if isinstance(message, str) else {}
        if said.get("type") == "text_answer" and said["answer"] == 1:
            server.send(json.dumps({"type": "end", "answer": 1, "last_seq": -1}))
        server.send(message)

    route.on_message(passed)


async def test_a_text_that_comes_too_late_stays_in_the_box_and_answers_nothing(site: str) -> None:
    async with chromium() as browser, visitor(browser) as page:
        await page.route_web_socket("**/ws/interviews/**", closing_before_the_text)
        await agree(page, site)
        await page.click("a[href$='?input=text']")
        await expect(page.locator("#progress")).to_have_text("Question 1 of 5", timeout=30_000)
        await page.fill("#typed", TEXT)
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#strip")).to_contain_text("had already closed", timeout=10_000)
        await expect(page.locator("#progress")).to_have_text("Question 2 of 5", timeout=15_000)
        await expect(page.locator("#typed")).to_be_enabled()
        await expect(page.locator("#typed")).to_have_value(TEXT)
        await expect(page.locator("#strip")).to_contain_text("still in the box")
        await expect(page.locator(".earlier-answer")).not_to_contain_text(TEXT)
        await page.reload()
        await expect(page.locator("#progress")).to_have_text("Question 2 of 5", timeout=30_000)
        await expect(page.locator("#typed")).to_have_value(TEXT)
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#feedback")).to_have_attribute("data-state", "final", timeout=20_000)
        await expect(page.locator("#strip")).not_to_contain_text("already closed")
        await expect(page.locator("#words, .earlier-answer")).to_contain_text([TEXT, ""])


def silent(route: WebSocketRoute) -> None:
    """A server that takes the socket and says nothing."""


def answered(route: WebSocketRoute) -> None:
    route.connect_to_server()


async def test_a_reloaded_page_takes_no_words_before_it_has_its_question_and_its_draft(site: str) -> None:
    async with chromium() as browser, visitor(browser) as page:
        await agree(page, site)
        await page.click("a[href$='?input=text']")
        await page.fill("#typed", TEXT, timeout=30_000)
        await page.route_web_socket("**/ws/interviews/**", silent)
        await page.reload()
        await expect(page.locator("#typed")).to_be_visible(timeout=30_000)
        await expect(page.locator("#typed")).to_be_disabled()
        await page.route_web_socket("**/ws/interviews/**", answered)
        await page.reload()
        await expect(page.locator("#typed")).to_be_enabled(timeout=30_000)
        await expect(page.locator("#typed")).to_have_value(TEXT)


async def test_a_draft_is_shown_in_its_own_interview_only(site: str) -> None:
    async with chromium() as browser, visitor(browser) as page:
        await agree(page, site)
        await page.click("a[href$='?input=text']")
        await expect(page.locator("#progress")).to_have_text("Question 1 of 5", timeout=30_000)
        await page.fill("#typed", TEXT)
        first = page.url
        await agree(page, site)
        await page.click("a[href$='?input=text']")
        await expect(page.locator("#progress")).to_have_text("Question 1 of 5", timeout=30_000)
        await expect(page.locator("#typed")).to_have_value("")
        await page.goto(first)
        await expect(page.locator("#typed")).to_have_value(TEXT, timeout=30_000)
