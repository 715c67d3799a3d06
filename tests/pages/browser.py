"""Chromium as a visitor with a microphone that plays a recording."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.pages.visit import ROOT

SCREENSHOTS = ROOT / "var" / "screenshots"
SPEECH = ROOT / "tests" / "audio" / "spoken" / "star_quantified.wav"
ALLOWED = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
_ALWAYS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def playing(recording: Path) -> tuple[str, ...]:
    """Arguments for a microphone that plays `recording` once, from its start for each stream."""
    return (*ALLOWED, f"--use-file-for-fake-audio-capture={recording}%noloop")


@asynccontextmanager
async def chromium(*arguments: str) -> AsyncIterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=[*_ALWAYS, *arguments])
        yield browser
        await browser.close()


@asynccontextmanager
async def visitor(
    browser: Browser, *, width: int = 1280, language: str = "en", scheme: str = "light"
) -> AsyncIterator[Page]:
    """A page whose script errors and refused resources fail the test."""
    context = await browser.new_context(
        viewport={"width": width, "height": 800 if width > 600 else 844},
        locale={"en": "en-GB", "zh": "zh-CN"}[language],
        color_scheme="dark" if scheme == "dark" else "light",
        has_touch=width < 600,
    )
    page = await context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield page
    await context.close()
    assert not [trouble for trouble in troubles if "404" not in trouble]


async def agree(page: Page, site: str, *, interview: str = "en") -> None:
    """From the landing page through the notice to the microphone check."""
    await page.goto(site)
    lang = "zh-Hans" if interview == "zh" else "en"
    await page.locator(f".choice:has([lang={lang}]) button").click()
    await page.check("input[name=agree]")
    await page.click(".consent button")
    await page.wait_for_url("**/microphone/")


async def speak(page: Page, site: str, *, interview: str = "en") -> None:
    """To the live page with an open microphone."""
    await agree(page, site, interview=interview)
    await page.click("#turn-on")
    await expect(page.locator("#start")).to_be_visible(timeout=10_000)
    await page.click("#start")


async def shot(page: Page, name: str, *, full: bool = False) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    await page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=full)


async def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    return int(await page.evaluate("() => document.documentElement.scrollWidth - innerWidth"))


async def top_of(page: Page, selector: str) -> float:
    box = await page.locator(selector).bounding_box()
    return box["y"] if box else 0.0


async def texts(page: Page, selectors: Sequence[str]) -> dict[str, str]:
    return {selector: (await page.inner_text(selector)).strip() for selector in selectors}
