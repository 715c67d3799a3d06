"""What a page's microphone handed over, frame by frame, to compare with the recording that the server has."""

from __future__ import annotations

import base64
import io
import re
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import BrowserContext, Page, expect

from tests.faults.proxy import Proxy
from tests.pages.browser import SPEECH, chromium, playing, speak, visitor
from tests.pages.visit import Site

# Listens beside the page's own handler, so it hears what was captured whether or not it was kept or sent.
_LISTEN = """
globalThis.AudioWorkletNode = class extends AudioWorkletNode {
  constructor(...given) {
    super(...given);
    this.port.addEventListener("message", ({ data }) => {
      const bytes = new Uint8Array(data.pcm.slice(0));
      const checking = location.pathname.endsWith("/microphone/"); // that sound leaves no page
      if (bytes.length && !checking) globalThis.frameCaptured(btoa(String.fromCharCode(...bytes)));
    });
  }
};
"""
SHORT_S = 60_000
WORDS_S = 90_000


class Captured:
    """Frames of every page of a browser context, in the order of capture."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    async def listen(self, context: BrowserContext) -> None:
        await context.expose_function("frameCaptured", self._take)
        await context.add_init_script(_LISTEN)

    def _take(self, frame: str) -> None:
        self.frames.append(base64.b64decode(frame))

    def run_in(self, pcm: bytes, start: int = 0, first: int = 0, stop: int | None = None) -> tuple[int, int]:
        """The frames from `first` to `stop` that stand in `pcm` from `start` on, without hole or repeat."""
        frames = self.frames[:stop]
        head = next(
            (index for index in range(first, len(frames)) if pcm.startswith(self._from(index), start)),
            None,
        )
        assert head is not None, f"nothing that was captured stands at byte {start} of {len(pcm)}"
        at, index = start, head
        while index < len(frames) and pcm.startswith(frames[index], at):
            at += len(frames[index])
            index += 1
        return head, index

    def length(self, head: int, end: int) -> int:
        return sum(len(frame) for frame in self.frames[head:end])

    def _from(self, index: int) -> bytes:
        """Enough to be found only where it belongs: one frame of silence is like another."""
        return b"".join(self.frames[index : index + 5])


async def kept_s(page: Page, seconds: int) -> None:
    """Wait until the page says that so much, or more, waits on this device."""
    least = "|".join(str(count) for count in range(seconds, seconds + 60))
    pattern = re.compile(rf"\b({least}) s (kept on this device|wait in this page)")
    await expect(page.locator("#saved")).to_have_text(pattern, timeout=SHORT_S)


async def all_saved(page: Page) -> None:
    await expect(page.locator("#saved")).to_have_text(re.compile("^Saved up to"), timeout=SHORT_S)


async def recording_of(page: Page, interview: str, number: int = 1) -> bytes:
    """The PCM that the server has of an answer; waits until it is there."""
    url = re.sub(r"^(https?://[^/]+).*", rf"\1/interviews/{interview}/answers/{number}/audio/", page.url)
    for _ in range(120):
        response = await page.request.get(url)
        if response.ok:
            with wave.open(io.BytesIO(await response.body())) as file:
                return bytes(file.readframes(file.getnframes()))
        await page.wait_for_timeout(500)
    raise AssertionError(f"no recording of answer {number}")


async def interview_of(page: Page) -> str:
    """The id in the address of a page of the interview."""
    found = re.search(r"/interviews/([0-9a-f-]{36})/", page.url)
    assert found, page.url
    return found[1]


@asynccontextmanager
async def speaking_through_a_proxy(site: Site) -> AsyncIterator[tuple[Page, Proxy, Captured]]:
    """A page in mid answer, its first words saved, whose line can be cut."""
    captured = Captured()
    async with (
        Proxy(site.port) as proxy,
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, torn=True) as page,
    ):
        await captured.listen(page.context)
        await speak(page, proxy.url)
        await all_saved(page)
        yield page, proxy, captured
