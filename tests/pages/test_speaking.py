"""An interview in a real browser before the real site: from a recorded voice to score and report."""

from __future__ import annotations

import wave
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.pages.browser import SPEECH, agree, chromium, overflow, playing, shot, speak, texts, visitor

pytestmark = [pytest.mark.browser, pytest.mark.model]

FEEDBACK_S = 90_000  # on a busy machine; the figures of a quiet one are the benchmark's
DIMENSIONS = ("relevance", "structure", "evidence", "ownership", "clarity")


async def final_score(page: Page) -> float:
    await expect(page.locator("#feedback")).to_have_attribute("data-state", "final", timeout=FEEDBACK_S)
    await expect(page.locator("#follow-up")).to_have_attribute("data-filled", "", timeout=10_000)
    return float(await page.inner_text("#score-value"))


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh", 390)])
async def test_a_spoken_answer_is_written_down_and_scored(
    site: str, model_dir: Path, language: str, width: int
) -> None:
    async with (
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, width=width, language=language) as page,
    ):
        await speak(page, site)
        await expect(page.locator("#words")).to_contain_text("five engineers", timeout=FEEDBACK_S)
        assert await final_score(page) >= 7
        shown = await texts(page, ["#score-grade", "#weakness-text", "#follow-up-text", "#score-source"])
        assert all(shown.values())
        for name in DIMENSIONS:
            row = page.locator(f"[data-dimension={name}]")
            assert float(await row.locator(".value").inner_text()) > 0
            assert await row.locator(".comment").inner_text()
        await expect(page.locator(".earlier-answer")).to_contain_text(
            "hard technical problem", timeout=15_000
        )
        await expect(page.locator("#question")).to_have_text(shown["#follow-up-text"])
        expected = "Follow-up to question 1" if language == "en" else "第 1 题的追问"
        await expect(page.locator("#progress")).to_have_text(expected)
        assert await overflow(page) == 0
        await shot(page, f"spoken-{language}-{width}")


async def test_an_interview_typed_to_its_end_has_a_report_with_every_answer(
    site: str, model_dir: Path
) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser, language="zh") as page:
        await agree(page, site, interview="zh")
        await page.click("a[href$='?input=text']")
        await expect(page.locator("#typed")).to_be_focused()
        await expect(page.locator("#progress")).to_have_text("第 1 题，共 5 题", timeout=30_000)
        await page.fill(
            "#typed",
            "去年大促时支付接口超时，我负责排查。我用慢查询日志定位到缺失的索引，加上索引后延迟从800毫秒降到300毫秒。",
        )
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#feedback")).to_have_attribute("data-state", "final", timeout=20_000)
        assert float(await page.inner_text("#score-value")) > 3.5
        await expect(page.locator("#progress")).to_have_text("第 1 题的追问", timeout=15_000)
        await page.click("#skip")
        await expect(page.locator("#progress")).to_have_text("第 2 题，共 5 题", timeout=15_000)
        await page.click("#finish")
        await page.click("#finish-yes")
        await page.wait_for_url("**/report/", timeout=30_000)
        await expect(page.locator(".answer")).to_have_count(3)
        await expect(page.locator(".answer").first).to_contain_text("慢查询日志")
        await expect(page.locator(".answer").nth(1)).to_contain_text("你跳过了这一题")
        await expect(page.locator("[hx-get]")).to_have_count(
            0, timeout=FEEDBACK_S
        )  # the second reading is in
        await expect(page.locator(".overall")).to_be_visible()
        await shot(page, "report-zh-1280", full=True)
        await page.click("a.danger")
        await page.click("button.danger")
        await expect(page.locator(".messages")).to_contain_text("面试已删除")
        await expect(page.locator(".mine")).to_have_count(0)


async def test_done_ends_the_answer_at_once_and_a_quote_plays_its_words(site: str, model_dir: Path) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site)
        await expect(page.locator("#words")).to_contain_text("five engineers", timeout=FEEDBACK_S)
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#done")).to_be_disabled()
        await expect(page.locator("#progress")).not_to_have_text("Question 1 of 5", timeout=FEEDBACK_S)
        await page.click("#finish")
        await page.click("#finish-yes")
        await page.wait_for_url("**/report/", timeout=30_000)
        await page.locator(".evidence-details summary").first.click()
        await expect(page.locator("[hx-get]")).to_have_count(
            0, timeout=FEEDBACK_S
        )  # the body is swapped once
        await page.locator("button.quote").first.click()  # and what was opened stays open
        audio = page.locator("audio").first
        await page.wait_for_timeout(600)
        played = await audio.evaluate("(audio) => [audio.currentTime, audio.paused, audio.duration]")
        assert played[0] > 0
        assert played[2] > 3


async def test_mute_and_thinking_are_said_in_words(site: str) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site)
        await expect(page.locator("#done")).to_be_enabled(timeout=30_000)
        await page.click("#think")
        await expect(page.locator("#state")).to_contain_text("Take your time")
        await page.click("#mute")
        await expect(page.locator("#state")).to_have_text("Muted. Nothing is recorded")
        await expect(page.locator("#mute")).to_have_attribute("aria-pressed", "true")
        await page.click("#mute")
        await expect(page.locator("#state")).not_to_contain_text("Muted")


def silence(folder: Path) -> Path:
    path = folder / "silence.wav"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 16_000 * 8))
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--use-fake-device-for-media-stream", "--deny-permission-prompts"), "is blocked for this page"),
        (("--use-fake-ui-for-media-stream",), "No microphone was found"),
    ],
)
async def test_a_microphone_that_cannot_be_had_is_explained(
    site: str, arguments: tuple[str, ...], said: str
) -> None:
    async with chromium(*arguments) as browser, visitor(browser) as page:
        await agree(page, site)
        await page.click("#turn-on")
        await expect(page.locator("#problem")).to_contain_text(said)
        await expect(page.locator("a[href$='?input=text']")).to_be_visible()
        await expect(page.locator("#start")).to_be_hidden()
        await shot(page, f"microphone-{said.split(maxsplit=1)[0].lower()}")


async def test_a_silent_microphone_is_named(site: str, tmp_path: Path) -> None:
    async with chromium(*playing(silence(tmp_path))) as browser, visitor(browser) as page:
        await agree(page, site)
        await page.click("#turn-on")
        await expect(page.locator("#problem")).to_contain_text("Fake Default Audio Input", timeout=10_000)
        await expect(page.locator("#problem")).to_contain_text("We can't hear you")
        await shot(page, "microphone-silent")


async def test_on_plain_http_the_page_says_that_it_needs_https(site: str) -> None:
    async with chromium() as browser, visitor(browser) as page:
        # Chromium counts 127.0.0.1 as secure, so the page is told that it is not.
        await page.add_init_script("Object.defineProperty(globalThis, 'isSecureContext', { value: false })")
        await agree(page, site)
        await expect(page.locator("#problem")).to_contain_text("needs HTTPS or localhost")
        await expect(page.locator("#turn-on")).to_be_hidden()


async def test_the_check_hears_a_voice_and_plays_it_back(site: str) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await agree(page, site)
        await page.click("#turn-on")
        await expect(page.locator("#check-state")).to_have_text("We can hear you well.", timeout=10_000)
        await expect(page.locator("#device option")).not_to_have_count(0)
        await page.click("#record")
        await expect(page.locator("#record")).to_be_disabled()
        await expect(page.locator("#record")).to_be_enabled(timeout=20_000)
