"""Chromium as a visitor with a microphone that plays a recording."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect
from playwright.async_api import Error as PlaywrightError

from tests.pages.visit import ROOT

SCREENSHOTS = ROOT / "var" / "screenshots"
SPEECH = ROOT / "tests" / "audio" / "spoken" / "star_quantified.wav"
ALLOWED = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
_ALWAYS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


def playing(recording: Path) -> tuple[str, ...]:
    """Arguments for a microphone that plays `recording` once, from its start for each stream."""
    return (*ALLOWED, f"--use-file-for-fake-audio-capture={recording}%noloop")


def _executable() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium on this machine")
    return path


@asynccontextmanager
async def chromium(*arguments: str) -> AsyncIterator[Browser]:
    path = _executable()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=[*_ALWAYS, *arguments])
        yield browser
        await browser.close()


@asynccontextmanager
async def lasting(profile: Path, *arguments: str) -> AsyncIterator[BrowserContext]:
    """A browser whose profile outlives it, whatever ends it."""
    path = _executable()
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            profile, executable_path=path, args=[*_ALWAYS, *arguments], locale="en-GB"
        )
        yield context
        with suppress(PlaywrightError):  # it may be dead already
            await context.close()


def kill(profile: Path) -> None:
    """End every process of the browser with this profile at once, as a crash or an empty battery does."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"--user-data-dir={profile}".encode() in arguments:
            with suppress(ProcessLookupError):
                os.kill(int(folder.name), signal.SIGKILL)


@asynccontextmanager
async def visitor(
    browser: Browser, *, width: int = 1280, language: str = "en", scheme: str = "light", torn: bool = False
) -> AsyncIterator[Page]:
    """A page whose script errors and refused resources fail the test; network errors too unless `torn`."""
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
    expected = ("404", "net::ERR", "WebSocket connection", "503", "htmx:") if torn else ("404",)
    assert not [trouble for trouble in troubles if not any(word in trouble for word in expected)]


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
