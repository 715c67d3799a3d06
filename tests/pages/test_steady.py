"""Nothing moves what is being read or typed: no trouble, no state with many words, no feedback sheet."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.pages.browser import SPEECH, agree, chromium, overflow, playing, shot, top_of, visitor
from tests.pages.test_look import QUESTION, ScriptedServer

pytestmark = pytest.mark.browser
READ = ("#progress", "#question", "#words")


async def opened(page: Page, site: str, server: ScriptedServer, *, typing: bool) -> None:
    await page.route_web_socket("**/ws/**", server.connected)
    await agree(page, site, interview=server.language)
    await page.goto(page.url.replace("microphone/", "?input=text" if typing else ""))
    await expect(page.locator("#question")).to_have_text(QUESTION[server.language])


async def height_of_bar(page: Page) -> float:
    box = await page.locator("#bar").bounding_box()
    assert box is not None
    return box["height"]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_trouble_moves_no_word_and_no_button(site: str, language: str, width: int) -> None:
    server = ScriptedServer(language)
    async with (
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, width=width, language=language) as page,
    ):
        await opened(page, site, server, typing=False)
        server.speaking()
        await expect(page.locator("#words .guess")).not_to_be_empty()
        before = [await top_of(page, part) for part in READ]
        bar, done = await top_of(page, "#bar"), await top_of(page, "#done")
        server.say({"type": "problem", "code": "asr_lost"})
        await expect(page.locator("#strip")).to_be_visible()
        assert [await top_of(page, part) for part in READ] == before
        assert (await top_of(page, "#bar"), await top_of(page, "#done")) == (bar, done)
        assert await overflow(page) == 0
        await shot(page, f"steady-{language}-{width}-trouble")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_bar_keeps_its_height_whatever_it_says(site: str, language: str, width: int) -> None:
    server = ScriptedServer(language)
    async with (
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, width=width, language=language) as page,
    ):
        await opened(page, site, server, typing=False)
        states = await page.evaluate(
            "() => Object.entries(JSON.parse(document.getElementById('page-text').textContent))"
            ".filter(([key]) => key.startsWith('state_')).map(([, text]) => text)"
        )
        assert len(states) > 10
        heights = {}
        truths = await page.evaluate(
            "() => Object.entries(JSON.parse(document.getElementById('page-text').textContent))"
            ".filter(([key]) => key.startsWith('truth_'))"
            ".map(([, text]) => text.replaceAll(/{.*?}/g, '12:34:56'))"
        )
        assert len(truths) > 5
        for text in truths:
            await page.evaluate("text => { document.getElementById('saved').textContent = text; }", text)
            heights[text] = await height_of_bar(page)
            assert await overflow(page) == 0
        for text in states:
            await page.evaluate("text => { document.getElementById('state').textContent = text; }", text)
            heights[text] = await height_of_bar(page)
        assert len(set(heights.values())) == 1, heights
        await page.evaluate(
            "text => { document.getElementById('state').textContent = text; }", max(states, key=len)
        )
        await shot(page, f"steady-{language}-{width}-longest")


async def test_on_a_phone_the_feedback_of_a_typed_answer_leaves_the_next_box_free(site: str) -> None:
    server = ScriptedServer("en")
    async with chromium(*playing(SPEECH)) as browser, visitor(browser, width=390) as page:
        await opened(page, site, server, typing=True)
        await page.fill("#typed", "I profiled the queries and found a missing index.")
        await page.click("#done")
        server.say({"type": "turn.ended", "turn": 1, "reason": "text", "at_s": 0, "speech_end_s": 0})
        server.judged()
        await expect(page.locator("#sheet-summary")).to_have_text("8.1 A")
        await expect(page.locator("#feedback")).to_have_attribute("data-open", "false")
        server.say(
            {**server.question, "type": "question.asked", "turn": 2, "text": "Why?", "kind": "follow_up"}
        )
        server.say({"type": "answer.opened", "turn": 2})
        await expect(page.locator("#question")).to_have_text("Why?")
        sheet, box = await top_of(page, "#feedback"), await page.locator("#typed").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= sheet
        await page.click("#sheet-toggle")
        await expect(page.locator("#weakness-text")).to_be_visible()
