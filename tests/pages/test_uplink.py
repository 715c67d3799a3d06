"""Frames on their way up, through memory and the device: sent, kept, asked for again or told missing."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from playwright.async_api import Page

from apps.live.frames import DISCONTINUITY
from tests.pages.modules import run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

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


async def test_of_an_interview_that_is_gone_nothing_stays_and_nobody_waits_for_long(page: Page) -> None:
    assert await uplink(page, """
        await welcome(1, 0); up.pause(); say(3); await up.store.flush();
        const asked = [], real = globalThis.fetch;
        globalThis.fetch = async (_, { signal }) => {
          asked.push(signal instanceof AbortSignal);
          return new Response("", { status: 404 });
        };
        await import("/static/js/late_upload.js?again");  // as this page did when it was opened
        globalThis.fetch = real;
        return [asked, (await up.store.seqs(1, 0)).length];
    """, interview="gone") == [[True], 0]  # fmt: skip
