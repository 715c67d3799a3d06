"""A key held to talk, silence that is asked about, the end of the time: the page before a scripted socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Page, expect

from apps.live.frames import DISCONTINUITY, decode_frame
from tests.pages.browser import SPEECH, chromium, overflow, playing, shot, speak, top_of, visitor
from tests.pages.test_look import ScriptedServer

pytestmark = pytest.mark.browser

SOON_MS = 60_000
HELD_FRAMES = 5
SILENT_FRAMES = 7


class Listener(ScriptedServer):
    """Keeps what the page says, and counts its frames."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self.said: list[dict[str, Any]] = []
        self.frames = 0
        self.silent: list[int] = []  # flags of frames without any sound

    def heard(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            self.frames += 1
            frame = decode_frame(message)
            if not any(frame.pcm):
                self.silent.append(frame.flags)
        else:
            self.said.append(json.loads(message))
        super().heard(message)

    async def lost(self) -> None:
        """The line breaks: the page comes back by itself."""
        assert self.route is not None
        await self.route.close(code=1011)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.said if message["type"] == kind]

    @property
    def modes(self) -> list[str]:
        return [message["mode"] for message in self.told("input")]


async def reached(page: Page, what: Any) -> None:
    """Wait for a condition on what the server got."""
    for _ in range(SOON_MS // 50):
        if what():
            return
        await page.wait_for_timeout(50)
    pytest.fail("it never came")


@asynccontextmanager
async def interview(
    site: str, language: str = "en", width: int = 1280
) -> AsyncIterator[tuple[Page, Listener]]:
    server = Listener(language)
    async with (
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, width=width, language=language) as page,
    ):
        await page.route_web_socket("**/ws/**", server.connected)
        await speak(page, site, interview=language)
        await expect(page.locator("#done")).to_be_enabled(timeout=SOON_MS)
        yield page, server


async def test_only_what_is_said_with_the_key_held_is_sent(site: str) -> None:
    async with interview(site) as (page, server):
        await page.click("#hold-mode")
        await expect(page.locator("#state")).to_have_text("Hold Space or the button while you speak")
        await expect(page.locator("#hold")).to_be_visible()
        await expect(page.locator("#think")).to_be_disabled()
        await reached(page, lambda: server.modes[-1:] == ["hold"])
        await page.wait_for_timeout(500)  # what was on its way
        before = server.frames
        await page.wait_for_timeout(1000)
        assert server.frames == before
        await expect(page.locator("#hold")).to_be_focused()
        await page.keyboard.down(" ")
        await expect(page.locator("#hold")).to_have_attribute("aria-pressed", "true")
        await expect(page.locator("#state")).to_have_text("Listening while you hold")
        await reached(page, lambda: server.frames >= before + HELD_FRAMES)
        await page.keyboard.up(" ")
        await expect(page.locator("#state")).to_have_text("Hold Space or the button while you speak")
        up = server.frames
        await reached(page, lambda: server.frames >= up + 3)  # the last word
        await reached(page, lambda: len(server.silent) >= SILENT_FRAMES)  # whoever talks on
        assert server.silent[-SILENT_FRAMES] & DISCONTINUITY
        assert not server.told("end")  # Space ends no answer here
        await page.click("#hold-mode")
        await expect(page.locator("#mute")).to_be_visible()
        await reached(page, lambda: server.modes[-1] == "voice")
        await reached(page, lambda: server.frames > up + 15)


async def test_the_button_is_held_too_and_the_choice_outlives_a_reload(site: str) -> None:
    async with interview(site) as (page, server):
        await page.click("#hold-mode")
        await page.hover("#hold")
        await page.mouse.down()
        before = server.frames
        await reached(page, lambda: server.frames >= before + HELD_FRAMES)
        await page.mouse.up()
        await expect(page.locator("#hold")).to_have_attribute("aria-pressed", "false")
        await page.focus("#hold")
        await page.keyboard.down(" ")
        await expect(page.locator("#hold")).to_have_attribute("aria-pressed", "true")
        await page.keyboard.up(" ")
        await page.keyboard.press("Enter")  # for whoever cannot hold: pressed, and pressed again
        await expect(page.locator("#hold")).to_have_attribute("aria-pressed", "true")
        await page.keyboard.press("Enter")
        await expect(page.locator("#hold")).to_have_attribute("aria-pressed", "false")
        server.said.clear()
        await page.reload()
        await expect(page.locator("#hold-mode")).to_have_attribute("aria-pressed", "true", timeout=SOON_MS)
        await reached(page, lambda: server.modes == ["hold"])
        await page.keyboard.press("Control+Enter")
        await reached(page, lambda: server.told("end"))


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh", 390)])
async def test_a_silent_speaker_is_asked_and_then_the_interview_waits_and_nothing_jumps(
    site: str, language: str, width: int
) -> None:
    async with interview(site, language, width) as (page, server):
        tops = [await top_of(page, name) for name in ("#question", "#words", "#bar")]
        await page.click("#hold-mode")
        assert await overflow(page) == 0
        await shot(page, f"turns-hold-{language}-{width}")
        await page.locator("#hold").dispatch_event("pointerdown", {"pointerId": 1})
        await page.click("#hold-mode")
        assert [await top_of(page, name) for name in ("#question", "#words", "#bar")] == tops
        server.say({"type": "turn.silent", "turn": 1, "at_s": 45, "asked": 1})
        await expect(page.locator("#attendance-yes")).to_be_focused()
        await shot(page, f"turns-still-there-{language}-{width}")
        await page.keyboard.press("Escape")
        await reached(page, lambda: server.told("here") == [{"type": "here", "answer": 1}])
        server.say({"type": "turn.silent", "turn": 1, "at_s": 95, "asked": 1})
        await expect(page.locator("#attendance")).to_be_visible()
        server.say({"type": "speech.started", "turn": 1, "at_s": 96})
        await expect(page.locator("#attendance")).to_be_hidden()
        assert len(server.told("here")) == 1  # speech said it
        server.say({"type": "turn.time_left", "turn": 1, "at_s": 162, "left_s": 18})
        await expect(page.locator("#time-left")).to_have_class("last-minute")
        await expect(page.locator("#announcer")).to_contain_text("0:18")
        await shot(page, f"turns-time-left-{language}-{width}")
        server.say({"type": "turn.silent", "turn": 1, "at_s": 145, "asked": 1})
        await page.click("#attendance-other")
        await reached(page, lambda: server.told("skip"))
        await nobody_comes(page, server, "Paused" if language == "en" else "已暂停")


async def nobody_comes(page: Page, server: Listener, paused: str) -> None:
    """The interview is paused, says so, and one key goes on."""
    server.said.clear()
    server.say({"type": "turn.silent", "turn": 1, "at_s": 45, "asked": 1})
    await expect(page.locator("#attendance")).to_be_visible()
    server.say({"type": "turn.ended", "turn": 1, "reason": "no_answer", "at_s": 90})
    await expect(page.locator("#attendance")).to_be_hidden()
    server.say({"type": "session.paused"})
    await expect(page.locator("#attendance-yes")).to_be_focused()
    await expect(page.locator("#state")).to_have_text(paused)
    await shot(page, f"turns-paused-{server.language}")
    await page.keyboard.press("Enter")
    await reached(page, lambda: server.told("go_on"))
    assert not server.told("here")
    assert not server.told("finish")
    server.say({"type": "session.paused"})
    await page.click("#attendance-other")
    await reached(page, lambda: server.told("finish"))


async def test_time_to_think_is_asked_for_until_it_is_given_and_over_with_words_or_when_it_is_up(
    site: str,
) -> None:
    async with interview(site) as (page, server):
        thinking = "Take your time. I'm not counting the silence"
        server.say({"type": "speech.started", "turn": 1, "at_s": 0.3})
        await page.click("#think")
        await reached(page, lambda: len(server.told("thinking")) == 1)
        server.say({"type": "transcript.partial", "turn": 1, "utterance": 1, "text": "I was"})  # said before
        await expect(page.locator("#words")).to_contain_text("I was")
        await expect(page.locator("#state")).to_have_text(thinking)
        await server.lost()
        await reached(page, lambda: len(server.told("thinking")) == 2)  # before the silence that it is about
        await expect(page.locator("#state")).to_have_text(thinking)
        server.say({"type": "turn.waits", "turn": 1, "at_s": 1, "until_s": 31})
        await expect(page.locator("#think")).to_have_attribute("aria-pressed", "true")
        server.say({"type": "turn.resumed", "turn": 1, "at_s": 5})
        await expect(page.locator("#state")).to_have_text("Listening")
        await server.lost()
        await reached(page, lambda: len(server.told("hello")) == 3)
        await page.wait_for_timeout(500)
        assert len(server.told("thinking")) == 2  # it was given
        server.say({"type": "turn.waits", "turn": 1, "at_s": 1, "until_s": 1})  # "I'm here" asks for no time
        server.say({"type": "turn.paused", "turn": 1, "at_s": 6, "speech_end_s": 5})
        await expect(page.locator("#think")).to_have_attribute("aria-pressed", "false")
        server.say({"type": "turn.waits", "turn": 1, "at_s": 0, "until_s": 0.2})  # and so much was recorded
        await expect(page.locator("#think")).to_have_attribute("aria-pressed", "false")
        await expect(page.locator("#state")).to_have_text("Take your time")


@pytest.mark.parametrize("control", ["#mute", "#type"])
async def test_what_was_said_before_the_microphone_went_off_ends_in_silence(site: str, control: str) -> None:
    async with interview(site) as (page, server):
        server.say({"type": "speech.started", "turn": 1, "at_s": 0.3})
        await reached(page, lambda: server.frames >= HELD_FRAMES)
        await page.click(control)
        await reached(page, lambda: len(server.silent) >= SILENT_FRAMES)
        first, *rest = server.silent[-SILENT_FRAMES:]
        assert first & DISCONTINUITY
        assert not any(flags & DISCONTINUITY for flags in rest)
        before = server.frames
        await page.wait_for_timeout(500)
        assert server.frames == before
