"""The page's modules, run by a real browser against what the server understands."""

from __future__ import annotations

import base64
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
const sent = [], told = [];
const link = {
  frame: (bytes) => { sent.push(bytes); return true; },
  tell: (message) => { told.push(message); return true; },
};
const up = new m.Uplink(link, a.storage ? store() : undefined);
const frame = (value) => new Uint8Array(3200).fill(value);
const seqs = () => sent.map((bytes) => Number(new DataView(bytes.buffer).getBigUint64(8)));
const flags = () => sent.map((bytes) => new DataView(bytes.buffer).getUint16(2));
const welcome = (answer, next, more = {}) =>
  up.welcome({ answer, next, epoch: "e", window: 100, buffer_key: a.key, ...more });
const say = (count, from = 0) => {
  for (let i = from; i < from + count; i += 1) up.capture(frame(i % 256), i);
};
const ack = (upto, window = 100) => up.ack({ answer: up.answer, upto, window });
const at_once = (one) => { one.burstMs = one.tokensMs = 1e9; };
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (ready) => { while (!(await ready())) await wait(20); };
async function store() {
  const { FrameStore } = await import("/static/js/store.js");
  return FrameStore.open(a.interview);
}
"""
KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()


async def uplink(page: Page, body: str, *, interview: str = "") -> Any:
    """With a store where an interview is named."""
    argument = {"storage": bool(interview), "interview": interview, "key": KEY if interview else ""}
    return await run(page, "uplink", UPLINK + body, argument)


async def test_what_is_said_before_the_answer_opens_belongs_to_it(page: Page) -> None:
    assert await uplink(page, """
        up.live = true; say(2); up.begin(1, 100); say(1, 2);
        return seqs();
    """) == [0, 1, 2]  # fmt: skip


async def test_after_a_reconnect_only_what_is_missing_goes_up_again(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); say(5); ack(1); up.pause(); say(1, 5);
        await welcome(1, 3); return seqs();
    """) == [0, 1, 2, 3, 4, 3, 4, 5]  # fmt: skip


async def test_a_frame_sent_again_is_the_same_bytes(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.gap(); say(1, 77); up.nack({ answer: 1, from: 0 });
        return sent.length === 2 && sent[0].every((byte, at) => byte === sent[1][at]);
    """) is True  # fmt: skip


async def test_a_page_that_was_loaded_again_goes_on_from_the_server_s_count(page: Page) -> None:
    found, end = await uplink(page, """
        say(1); await welcome(4, 57); say(1); up.close();
        return [seqs(), told];
    """)  # fmt: skip
    assert found == [57, 58]
    assert end == [{"type": "end", "answer": 4, "last_seq": 58, "sha256": ""}]


async def test_nothing_is_sent_beyond_the_credit(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0, { window: 2 }); say(5);
        const before = seqs().length; ack(1, 0); const paused = seqs().length; ack(1, 3);
        return [before, paused, seqs().length, up.current.next];
    """) == [2, 2, 5, 5]  # fmt: skip


async def test_catching_up_is_paced(page: Page) -> None:
    first, took = await uplink(page, """
        await welcome(1, 0); up.pause(); say(80); up.filledAt = performance.now();
        const from = performance.now(); await welcome(1, 0); const first = seqs().length;
        await until(() => { ack(seqs().length - 1); return seqs().length === 80; });
        return [first, performance.now() - from];
    """)  # fmt: skip
    assert first <= 10
    assert took >= 1_700  # seven seconds of sound at four times its speed


async def test_a_full_memory_stops_recording_and_tells_what_is_missing(page: Page) -> None:
    full, missing, heard, gaps = await uplink(page, """
        await welcome(1, 0); up.pause(); say(310); const full = up.full, missing = up.missing;
        await welcome(1, 0); at_once(up); up.pump(); ack(99); ack(199); ack(299);
        const before = told.length; say(1, 400); const held = seqs().length;
        ack(309);
        return [full, missing, [before, held, seqs().at(-1), flags().at(-1)], told];
    """)  # fmt: skip
    assert (full, missing) == (True, 10)
    assert heard == [1, 300, 310, DISCONTINUITY]  # what follows the gap waits until the server has it
    assert gaps == [{"type": "gap", "answer": 1, "from": 300, "to": 310, "why": "full"}]


async def test_what_was_saved_stays_saved_when_its_answer_is_let_go(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); say(2); ack(1); const before = up.savedAtMs; up.committed(1);
        return before > 0 && up.savedAtMs === before;
    """) is True  # fmt: skip


async def test_muted_time_is_marked_as_a_gap(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.broken = false; say(1); up.gap(); say(2, 5000);
        return flags();
    """) == [0, DISCONTINUITY, 0]  # fmt: skip


async def test_the_checksum_is_over_the_answer_s_samples(page: Page) -> None:
    told = await uplink(page, """
        await welcome(1, 0); say(2, 1); up.close(); say(1, 9);
        return told;
    """)  # fmt: skip
    digest = hashlib.sha256(b"\1" * 3200 + b"\2" * 3200).hexdigest()
    assert told == [{"type": "end", "answer": 1, "last_seq": 1, "sha256": digest}]


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 65, 3_200, 100_001])
async def test_the_growing_checksum_is_sha_256(page: Page, length: int) -> None:
    data = bytes(index * 7 % 256 for index in range(length))
    body = """
        const sha = new m.Sha256(), bytes = Uint8Array.from(a.data);
        for (let at = 0; at < bytes.length; at += a.step) sha.update(bytes.subarray(at, at + a.step));
        return sha.digest();
    """
    for step in (29, 4_096):
        assert await run(page, "sha256", body, {"data": list(data), "step": step}) == (
            hashlib.sha256(data).hexdigest()
        )


async def test_the_server_that_lost_its_spool_gets_the_answer_again_from_the_start(page: Page) -> None:
    assert await uplink(page, """
        at_once(up); await welcome(1, 0); say(5); ack(4); up.pause();
        await welcome(1, 0, { epoch: "another" }); return seqs();
    """) == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]  # fmt: skip


async def test_a_closed_answer_goes_on_going_up_beside_the_open_one(page: Page) -> None:
    ends, held = await uplink(page, """
        await welcome(1, 0); up.pause(); say(3); up.close(); say(2);
        await welcome(2, 0, { late: [{ answer: 1, epoch: "e", next: 1, window: 100 }] });
        const ends = told.filter(({ type }) => type === "end");
        up.committed(1);
        return [ends, [...up.all.keys()]];
    """)  # fmt: skip
    assert [(end["answer"], end["last_seq"], len(end["sha256"])) for end in ends] == [(1, 2, 64)]
    assert held == [2]


async def test_of_an_answer_that_the_welcome_does_not_name_the_server_is_asked(page: Page) -> None:
    """It may have it whole, or not be able to take it now: only `committed` frees what the device keeps."""
    asked, before, after = await uplink(page, """
        await welcome(1, 0); up.capture(frame(1), 1); await up.store.flush(); up.pause();
        await welcome(2, 0);
        const before = (await up.store.seqs(1, 0)).length;
        up.committed(1);
        await until(async () => (await up.store.seqs(1, 0)).length === 0);
        return [told, before, [...up.all.keys()]];
    """, interview="whole")  # fmt: skip
    assert asked == [{"type": "end", "answer": 1, "last_seq": 0, "sha256": ""}]
    assert (before, after) == (1, [2])


async def test_a_late_answer_that_is_taken_up_after_the_welcome_is_sent_too(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.pause(); say(3); await up.store.flush();
        await welcome(2, 0); sent.length = 0; told.length = 0;
        up.ack({ answer: 1, upto: 0, window: 100 });
        await until(() => told.length);
        await up.store.forgetAll();
        return [seqs(), told.map(({ type, answer, last_seq: last }) => [type, answer, last])];
    """, interview="later") == [[1, 2], [["end", 1, 2]]]  # fmt: skip


async def test_frames_outlive_the_page_that_captured_them(page: Page) -> None:
    """The second uplink is what a reopened browser has: it knows nothing but what is on the device."""
    read, first = await uplink(page, """
        await welcome(3, 0); up.pause(); say(50); await up.store.flush();
        sent.length = 0;
        const again = new m.Uplink(link, store());
        await again.welcome({ answer: 3, next: 20, epoch: "e", window: 100, buffer_key: a.key });
        again.capture(frame(9), 99); at_once(again); again.pump();
        await until(() => sent.length === 31);
        const pcm = sent.map((bytes) => bytes[40]);
        await again.store.forgetAll();
        return [seqs(), pcm];
    """, interview="outlive")  # fmt: skip
    assert read == list(range(20, 51))
    assert first == [*range(20, 50), 9]


async def test_what_the_device_lost_or_cannot_read_is_a_gap(page: Page) -> None:
    told = await uplink(page, """
        await welcome(3, 0); up.pause(); say(30); await up.store.flush();
        const frames = () => up.store.db.transaction("frames", "readwrite").objectStore("frames");
        const done = (asked) => new Promise((ok) => { asked.onsuccess = () => ok(asked.result); });
        await done(frames().delete(IDBKeyRange.bound([a.interview, 3, 4], [a.interview, 3, 8])));
        const sealed = await done(frames().get([a.interview, 3, 12]));
        new Uint8Array(sealed.data)[5] ^= 1;
        await done(frames().put(sealed, [a.interview, 3, 12]));
        const again = new m.Uplink(link, store());
        await again.welcome({ answer: 0, next: 0, epoch: "", window: 0, buffer_key: a.key,
                              late: [{ answer: 3, epoch: "e", next: 0, window: 100 }] });
        await until(() => {
          at_once(again); again.pump();
          const outgoing = again.all.get(3);
          again.ack({ answer: 3, upto: outgoing.sent - 1, window: 100 });
          return told.some(({ type }) => type === "end");
        });
        await again.store.forgetAll();
        return told;
    """, interview="holes")  # fmt: skip
    assert told == [
        {"type": "gap", "answer": 3, "from": 4, "to": 9, "why": "lost"},
        {"type": "gap", "answer": 3, "from": 12, "to": 13, "why": "unreadable"},
        {"type": "end", "answer": 3, "last_seq": 29, "sha256": ""},
    ]


async def test_two_welcomes_that_overtake_the_device_number_no_frame_twice(page: Page) -> None:
    """The first connection goes before the device was read; what was said meanwhile goes up once."""
    assert await uplink(page, """
        say(3); const first = welcome(1, 0); up.pause(); const second = welcome(1, 0);
        await first; await second; say(1, 3); up.close();
        await until(() => told.length);
        await up.store.forgetAll();
        return [sent.map((bytes) => bytes[40]), seqs(), told.at(-1).last_seq];
    """, interview="overtaken") == [[0, 1, 2, 3], [0, 1, 2, 3], 3]  # fmt: skip


async def test_an_answer_that_ends_while_it_is_taken_up_stays_ended(page: Page) -> None:
    assert await uplink(page, """
        const taken = welcome(1, 0); up.close(); await taken; say(1);
        return [up.open, told.map(({ type, last_seq: last }) => [type, last])];
    """) == [False, [["end", -1]]]  # fmt: skip


async def test_what_only_memory_has_waits_for_a_server_that_does_not_name_it(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.pause(); say(3); up.close();
        await welcome(2, 0); const unasked = seqs(); up.pause();
        await welcome(2, 0, { late: [{ answer: 1, epoch: "e", next: 0, window: 100 }] });
        return [unasked, seqs(), told.at(-1).last_seq];
    """) == [[], [0, 1, 2], 2]  # fmt: skip


async def test_a_page_that_alone_has_sound_outlives_a_lost_connection_with_it(page: Page) -> None:
    """Where the device keeps it, the report sends it: there is nothing to wait for without a connection."""
    waits = """
        const found = []; const look = (admitted) => found.push(up.patienceMs(admitted) > 0);
        await welcome(1, 0, { window: 0 }); look(true); say(3); await up.store?.flush();
        look(true); up.pause(); look(true); look(false);
        await up.store?.forgetAll();
        return found;
    """
    assert await uplink(page, waits) == [False, True, True, False]
    assert await uplink(page, waits, interview="leaving") == [False, True, False, False]


async def test_a_device_that_fails_holds_nothing_up(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.pause(); up.store.db.close(); say(3);
        await welcome(1, 0); return [seqs(), up.kept];
    """, interview="failing") == [[0, 1, 2], False]  # fmt: skip


async def test_what_is_said_while_the_device_is_read_is_not_missing(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.pause(); say(20); await up.store.flush();
        const kept = await store(), read = kept.read.bind(kept);
        const again = new m.Uplink(link, Promise.resolve(kept));
        kept.read = async (...place) => {
          const found = await read(...place);
          again.capture(frame(9), 1); await kept.flush();
          return found;
        };
        await again.welcome({ answer: 1, next: 10, epoch: "e", window: 100, buffer_key: a.key });
        await until(() => { again.pump(); return sent.length >= 11; });
        await kept.forgetAll();
        return [seqs(), again.missing];
    """, interview="reading") == [list(range(10, 21)), 0]  # fmt: skip


async def test_what_is_on_the_device_is_sealed_and_half_a_minute_of_it_is_in_memory(page: Page) -> None:
    plain, kept, memory = await uplink(page, """
        await welcome(1, 0); up.pause(); say(200); await up.store.flush();
        say(200, 200); await up.store.flush();
        const kept = (await up.store.seqs(1, 0)).length;
        const all = up.store.db.transaction("frames").objectStore("frames").getAll();
        await new Promise((resolve) => { all.onsuccess = resolve; });
        const plain = all.result.some(({ data }) => {
          const bytes = new Uint8Array(data).subarray(18, 3218);
          return bytes.every((byte) => byte === bytes[0]);
        });
        const memory = up.current.frames.size;
        await up.store.forgetAll();
        return [plain, kept, memory];
    """, interview="sealed")  # fmt: skip
    assert plain is False
    assert kept == 400
    assert memory <= 300


async def test_a_full_device_stops_recording_and_says_so(page: Page) -> None:
    full, refused, missing = await uplink(page, """
        await welcome(1, 0); up.pause(); up.store.held = 36000; say(320); await up.store.flush();
        const found = [up.full, up.store.refused, up.missing];
        await up.store.forgetAll();
        return found;
    """, interview="full")  # fmt: skip
    assert (full, refused, missing) == (True, True, 20)


async def test_leftovers_are_forgotten_after_a_day(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.pause(); say(3); await up.store.flush();
        const now = Date.now; Date.now = () => now() + 25 * 3600 * 1000;
        const again = await store(); Date.now = now;
        return again.held;
    """, interview="old") == 0  # fmt: skip


async def test_the_page_never_says_that_it_records_when_it_does_not(page: Page) -> None:
    common = {"problem": None, "device": "", "typing": False, "turn": "speaking"}
    cases = [
        {"microphone": microphone, "muted": muted, "full": full, "kept": kept, "link": link, **common}
        for microphone in (True, False)
        for muted in (True, False)
        for full in (True, False)
        for kept in (True, False)
        for link in ("offline", "reconnecting")
    ]
    said = await run(page, "status", "return a.map((facts) => m.stateKey(facts));", cases)
    for facts, key in zip(cases, said, strict=True):
        recording = facts["microphone"] and not facts["muted"] and not facts["full"]
        assert (key in {"state_offline", "state_offline_in_page", "state_reconnecting"}) == recording
        assert key != "state_offline" or facts["kept"]


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "truth_saved"),
        ({"savedAtMs": 0}, ""),
        ({"live": False, "unsavedMs": 300}, "truth_kept"),
        ({"live": False, "unsavedMs": 300, "kept": False}, "truth_kept_in_page"),
        ({"unsavedMs": 300}, "truth_saved"),
        ({"unsavedMs": 12_000, "missingMs": 3_000}, "truth_sending"),
        ({"missingMs": 3_000}, "truth_missing"),
        ({"missingMs": 3_000, "savedAtMs": 0}, ""),
        ({"full": True, "live": False, "unsavedMs": 30_000}, "truth_full"),
    ],
)
async def test_one_line_says_what_is_safe(page: Page, changed: dict[str, object], kind: str) -> None:
    calm = {"live": True, "kept": True, "full": False, "unsavedMs": 0, "missingMs": 0, "savedAtMs": 1}
    assert await run(page, "truth", "return m.truthKind(a);", {**calm, **changed}) == kind


SOCKET = """
const links = [], opened = [];
class Wire extends EventTarget {
  constructor() {
    super();
    this.readyState = 1;
    opened.push(this);
    setTimeout(() => {
      this.dispatchEvent(new Event("open"));
      this.say({ type: "welcome", resume_token: "again" });
    });
  }
  say(message) { this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) })); }
  send() {}
  close() { this.readyState = 3; }
}
Object.assign(Wire, { OPEN: 1 });
const real = { WebSocket, fetch };
const answer = async () => new Response(JSON.stringify({ ticket: "t" }), { status: a });
Object.assign(globalThis, { WebSocket: Wire, fetch: answer });
const socket = new m.LiveSocket(
  { socketUrl: "/", ticketUrl: () => "/", csrfToken: "", protocol: { subprotocol: "s", close_codes: {} } },
  { hello: () => ({}), onMessage: () => {}, onLink: (link) => links.push(link), owedS: () => 0 },
);
const lives = () => links.filter((link) => link === "live").length;
const until = async (ready) => { while (!ready()) await new Promise((resolve) => setTimeout(resolve, 20)); };
try {
"""


async def socket(page: Page, body: str, ticket_status: int = 200) -> Any:
    ending = "} finally { socket.close(); Object.assign(globalThis, real); }"
    return await run(page, "socket", SOCKET + body + ending, ticket_status)


async def test_a_browser_that_calls_itself_offline_still_tries(page: Page) -> None:
    """A server on this very machine is reached without any network, and a browser may be wrong."""
    assert await socket(page, """
        socket.connect(); await until(lives);
        dispatchEvent(new Event("offline")); const given_up = opened[0].readyState;
        await until(() => lives() === 2);
        return [given_up, opened[1].readyState];
    """) == [3, 1]  # fmt: skip


async def test_a_ticket_that_comes_after_the_page_left_changes_nothing(page: Page) -> None:
    assert await socket(page, """
        socket.connect(); socket.close();
        await new Promise((resolve) => setTimeout(resolve, 100));
        return links;
    """, ticket_status=409) == ["connecting"]  # fmt: skip


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
