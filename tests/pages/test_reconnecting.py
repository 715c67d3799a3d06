"""A page comes back by itself from a silent line, a restarted server, a reload; what it missed is fetched."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Route, expect

from apps.live.close_codes import CloseCode
from tests.pages.browser import SPEECH, agree, chromium, playing, shot, speak, visitor
from tests.pages.captured import (
    SHORT_S,
    WORDS_S,
    Captured,
    all_saved,
    interview_of,
    recording_of,
    speaking_through_a_proxy,
)
from tests.pages.test_look import QUESTION, ScriptedServer
from tests.pages.visit import Site

pytestmark = pytest.mark.browser


async def is_whole(page: Page, captured: Captured) -> None:
    """End the answer; its recording is what was captured, from its first frame on."""
    await page.click("#done")
    pcm = await recording_of(page, await interview_of(page))
    head, end = captured.run_in(pcm)
    assert captured.length(head, end) == len(pcm)


@pytest.mark.model
async def test_a_line_that_died_without_a_word_is_found_and_replaced(
    site_server: Site, model_dir: Path
) -> None:
    async with speaking_through_a_proxy(site_server) as (page, proxy, captured):
        proxy.hole(on=True)
        await expect(page.locator("#state")).to_contain_text("Reconnecting", timeout=SHORT_S)
        proxy.hole(on=False)
        await all_saved(page)
        await is_whole(page, captured)


@pytest.mark.model
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


@pytest.mark.model
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
        await expect(page.locator("#time-left")).to_have_text(re.compile("^9:.* left"), timeout=SHORT_S)
        assert await seconds_left(page) <= left_s < 600  # the time did not begin again
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


class ResumingServer(ScriptedServer):
    """Hands out a new resume token with each welcome, and lets `refused` hellos in no more."""

    def __init__(self) -> None:
        super().__init__("en")
        self.hellos: list[str] = []
        self.echoed: list[int] = []
        self.refused = 0

    def heard(self, message: str | bytes) -> None:
        said = json.loads(message) if isinstance(message, str) else {}
        if said.get("type") == "heartbeat" and "n" in said:
            self.echoed.append(said["n"])
        if said.get("type") != "hello":
            super().heard(message)
            return
        self.hellos.append(said.get("resume", "ticket"))
        if self.refused:
            self.refused -= 1
            self.closing = asyncio.ensure_future(self.close(CloseCode.UNAUTHENTICATED))
        else:
            self.tell({**self.welcome(), "resume_token": f"token {len(self.hellos)}"})
            if len(self.hellos) == 1:
                self.say({"type": "question.asked", **self.question})
                self.say({"type": "answer.opened", "turn": 1})

    async def close(self, code: CloseCode) -> None:
        assert self.route is not None
        await self.route.close(code=int(code))


async def says(page: Page, server: ResumingServer, hellos: list[str]) -> None:
    for _ in range(300):
        if server.hellos == hellos:
            return
        await page.wait_for_timeout(100)
    raise AssertionError(server.hellos)


async def test_a_page_comes_back_with_its_token_and_only_once_more_with_a_ticket(site: str) -> None:
    server = ResumingServer()
    async with chromium(*playing(SPEECH)) as browser, visitor(browser, torn=True) as page:
        await page.route_web_socket("**/ws/**", server.connected)
        await speak(page, site)
        await expect(page.locator("#question")).to_have_text(QUESTION["en"])
        server.tell({"type": "heartbeat", "n": 7})
        await server.close(CloseCode.ERROR)
        await says(page, server, ["ticket", "token 1"])
        server.tell({"type": "drain", "spread_ms": 300})
        await server.close(CloseCode.RESTART)
        await says(page, server, ["ticket", "token 1", "token 2"])
        server.refused = 1
        await server.close(CloseCode.IDLE)
        await says(page, server, ["ticket", "token 1", "token 2", "token 3", "ticket"])
        await expect(page.locator("#bar")).not_to_have_attribute("data-state", "watch")
        server.refused = 2
        await server.close(CloseCode.IDLE)
        await expect(page.locator("#strip")).to_contain_text("ended this connection", timeout=SHORT_S)
        assert server.hellos[5:] == ["token 5", "ticket"]
        assert server.echoed == [7]


async def test_what_is_missing_is_said_where_it_is_missing_and_a_correction_is_told(site: str) -> None:
    server = ScriptedServer("en")
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await page.route_web_socket("**/ws/**", server.connected)
        await speak(page, site)
        await expect(page.locator("#question")).to_have_text(QUESTION["en"])
        for number, (text, start_s) in enumerate((("Before it.", 0.5), ("After it.", 4.0)), start=1):
            heard = {"utterance": number, "text": text, "start_s": start_s, "end_s": start_s + 1}
            server.say({"type": "transcript.final", "turn": 1, **heard})
        server.say({"type": "audio.missing", "turn": 1, "at_s": 2.0, "seconds": 3.2, "why": "lost"})
        words = "Before it. [audio missing 3.2 s] After it."
        await expect(page.locator("#words")).to_contain_text(words)
        await shot(page, "missing")
        server.say({**server.question, "type": "question.asked", "turn": 2})
        await expect(page.locator(".earlier-answer p")).to_have_text(words)
        server.say({"type": "answer.corrected", "turn": 1, "late_s": 3.2})
        await page.click(".earlier-answer summary")
        await expect(page.locator(".corrected")).to_contain_text("3.2 s of your recording arrived later")
