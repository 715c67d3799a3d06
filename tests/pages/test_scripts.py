"""The page's modules, run by a real browser against what the server understands."""

from __future__ import annotations

import hashlib
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from apps.live.frames import DISCONTINUITY, LAST, decode_frame, encode_frame
from tests.pages.browser import chromium, visitor

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(site: str) -> AsyncIterator[Page]:
    async with chromium() as browser, visitor(browser) as page:
        await page.goto(site)
        yield page


async def run(page: Page, module: str, body: str, argument: object = None) -> Any:
    """The value of `body`, which sees the module as `m` and the argument as `a`."""
    script = f"async (a) => {{ const m = await import('/static/js/{module}.js'); {body} }}"
    return await page.evaluate(script, argument)


async def test_frames_made_by_the_page_are_the_server_s_bytes(page: Page) -> None:
    pcm = bytes(range(256)) * 12 + bytes(128)
    for seq, capture_us, flags in ((0, 0, 0), (7, 123_456_789, LAST), (2**33, 2**45, DISCONTINUITY)):
        made = await run(
            page,
            "frames",
            "return Array.from(m.encodeFrame({ ...a, pcm: Uint8Array.from(a.pcm) }));",
            {"answer": 3, "seq": seq, "captureUs": capture_us, "flags": flags, "pcm": list(pcm)},
        )
        raw = bytes(made)
        assert raw == encode_frame(pcm, answer=3, seq=seq, capture_us=capture_us, flags=flags)
        assert decode_frame(raw).seq == seq


TONE = """
const count = Math.round(a.rate * a.seconds);
const input = Float32Array.from({ length: count }, (_, i) => Math.sin(2 * Math.PI * a.hz * i / a.rate));
const resampler = new m.Resampler(a.rate);
const output = [];
for (let at = 0; at < count; at += a.block) {
  output.push(...resampler.process(input.subarray(at, at + a.block)));
}
const middle = output.slice(4000, 12000);
const energy = middle.reduce((sum, one) => sum + one * one, 0);
return { length: output.length, rms: Math.sqrt(energy / middle.length), head: output.slice(0, 2000) };
"""


async def tone(page: Page, rate: int, hz: int, block: int = 128) -> dict[str, Any]:
    result: dict[str, Any] = await run(
        page, "resampler", TONE, {"rate": rate, "hz": hz, "seconds": 1.0, "block": block}
    )
    return result


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 44_100, 48_000, 96_000])
async def test_speech_keeps_its_level_and_length_at_any_rate(page: Page, rate: int) -> None:
    heard = await tone(page, rate, 1_000)
    assert heard["rms"] == pytest.approx(math.sqrt(0.5), rel=0.02)
    assert heard["length"] == pytest.approx(16_000, abs=80)


@pytest.mark.parametrize(
    ("rate", "hz"), [(44_100, 9_500), (48_000, 9_500), (48_000, 15_000), (96_000, 30_000)]
)
async def test_sound_above_8_khz_does_not_fold_back(page: Page, rate: int, hz: int) -> None:
    assert (await tone(page, rate, hz))["rms"] < 0.001


async def test_the_size_of_the_blocks_changes_no_sample(page: Page) -> None:
    small, large = await tone(page, 44_100, 440, 128), await tone(page, 44_100, 440, 1_000)
    assert small["head"] == large["head"]


UPLINK = """
const sent = [];
const up = new m.Uplink((bytes) => { if (a.broken) return false; sent.push(bytes); return true; });
const frame = (value) => new Uint8Array(3200).fill(value);
const seqs = () => sent.map((bytes) => Number(new DataView(bytes.buffer).getBigUint64(8)));
const flags = () => sent.map((bytes) => new DataView(bytes.buffer).getUint16(2));
const welcome = (answer, next) => up.resume({ answer, next, epoch: "e", window: 100 });
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
"""


async def uplink(page: Page, body: str) -> Any:
    return await run(page, "uplink", UPLINK + body, {"broken": False})


async def test_what_is_said_before_the_answer_opens_belongs_to_it(page: Page) -> None:
    assert await uplink(page, """
        up.live = true; up.capture(frame(1), 0); up.capture(frame(2), 100);
        up.begin(1, 100); up.capture(frame(3), 200);
        return seqs();
    """) == [0, 1, 2]  # fmt: skip


async def test_after_a_reconnect_only_what_is_missing_goes_up_again(page: Page) -> None:
    assert await uplink(page, """
        welcome(1, 0); for (let i = 0; i < 5; i += 1) up.capture(frame(i), i);
        up.ack(1, 100); up.pause(); up.capture(frame(5), 5);
        welcome(1, 3); return seqs();
    """) == [0, 1, 2, 3, 4, 3, 4, 5]  # fmt: skip


async def test_a_frame_sent_again_is_the_same_bytes(page: Page) -> None:
    assert await uplink(page, """
        welcome(1, 0); up.gap(); up.capture(frame(1), 77); up.nack(0);
        return sent.length === 2 && sent[0].every((byte, at) => byte === sent[1][at]);
    """) is True  # fmt: skip


async def test_a_page_that_was_loaded_again_goes_on_from_the_server_s_count(page: Page) -> None:
    assert await uplink(page, """
        up.capture(frame(1), 0); welcome(4, 57); up.capture(frame(2), 1);
        return [seqs(), up.pcm()];
    """) == [[57, 58], None]  # fmt: skip


async def test_nothing_is_sent_beyond_the_credit(page: Page) -> None:
    assert await uplink(page, """
        up.resume({ answer: 1, next: 0, epoch: "e", window: 2 });
        for (let i = 0; i < 5; i += 1) up.capture(frame(i), i);
        const before = seqs().length; up.ack(1, 0); const paused = seqs().length; up.ack(1, 3);
        return [before, paused, seqs().length];
    """) == [2, 2, 5]  # fmt: skip


async def test_catching_up_is_paced(page: Page) -> None:
    first, later = await uplink(page, """
        up.capture(frame(0), 0); for (let i = 0; i < 80; i += 1) up.capture(frame(i), i);
        welcome(1, 0); const first = seqs().length; await wait(450); return [first, seqs().length];
    """)  # fmt: skip
    assert first == 8
    assert 20 <= later <= 30


async def test_a_full_memory_stops_recording_and_says_so(page: Page) -> None:
    kept, full, flags = await uplink(page, """
        up.begin(1, 0); for (let i = 0; i < 310; i += 1) up.capture(frame(0), i);
        const kept = up.frames.length, full = up.full;
        up.acked = 300; up.capture(frame(1), 400);
        return [kept, full, up.frames.at(-1).flags];
    """)  # fmt: skip
    assert (kept, full, flags) == (300, True, DISCONTINUITY)


async def test_muted_time_is_marked_as_a_gap(page: Page) -> None:
    assert await uplink(page, """
        welcome(1, 0); up.capture(frame(0), 0); up.gap();
        up.capture(frame(1), 5000); up.capture(frame(2), 5100);
        return flags();
    """) == [0, DISCONTINUITY, 0]  # fmt: skip


async def test_the_checksum_is_over_the_answer_s_samples(page: Page) -> None:
    digest = await uplink(page, """
        welcome(1, 0); up.capture(frame(1), 0); up.capture(frame(2), 1); up.close();
        up.capture(frame(9), 2);
        return m.sha256(up.pcm());
    """)  # fmt: skip
    assert digest == hashlib.sha256(b"\1" * 3200 + b"\2" * 3200).hexdigest()


async def test_back_off_has_jitter_and_a_ceiling(page: Page) -> None:
    waits = await run(page, "socket", "return Array.from({ length: 400 }, (_, i) => m.backoffMs(i % 40));")
    assert min(waits) / 1000 >= 0.1
    assert max(waits) / 1000 <= 8
    assert len({round(wait) for wait in waits[39::40]}) > 5


async def test_unclear_words_are_found_in_order(page: Page) -> None:
    words = [("we", 0.9), ("cut", 0.2), ("the", 0.9), ("cut", 0.9), ("absent", 0.1)]
    runs = await run(
        page,
        "transcript",
        "return m.runs('We cut the cut.', a);",
        [{"text": text, "start_s": 0, "end_s": 0, "confidence": confidence} for text, confidence in words],
    )
    assert [(part["text"], part["unclear"]) for part in runs] == [
        ("We ", False), ("cut", True), (" the cut.", False)
    ]  # fmt: skip


async def test_paper_shows_what_the_page_folds_and_the_page_folds_it_again(page: Page) -> None:
    body = """
    document.body.insertAdjacentHTML("beforeend", "<details id=a></details><details id=b open></details>");
    const open = () => ["a", "b"].map((id) => document.getElementById(id).open);
    const before = open();
    dispatchEvent(new Event("beforeprint"));
    const printed = open();
    dispatchEvent(new Event("afterprint"));
    return [before, printed, open()];
    """
    assert await run(page, "report", body) == [[False, True], [True, True], [False, True]]
