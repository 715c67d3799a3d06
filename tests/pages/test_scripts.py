"""The page's modules, run by a real browser against what the server understands."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import pytest
from playwright.async_api import Page

from apps.live.frames import DISCONTINUITY, LAST, decode_frame, encode_frame
from tests.pages.modules import run

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


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


async def test_the_page_never_says_that_it_records_when_it_does_not(page: Page) -> None:
    common = {"problem": None, "device": "", "typing": False}
    cases = [
        {
            **common,
            "microphone": microphone,
            "muted": muted,
            "full": full,
            "kept": kept,
            "link": link,
            "turn": turn,
        }
        for microphone in (True, False)
        for muted in (True, False)
        for full in (True, False)
        for kept in (True, False)
        for link in ("offline", "reconnecting")
        for turn in ("speaking", "analysing")
    ]
    said = await run(page, "status", "return a.map((facts) => m.stateKey(facts));", cases)
    for facts, key in zip(cases, said, strict=True):
        answering = facts["microphone"] and facts["turn"] == "speaking"
        recording = answering and not facts["muted"] and not facts["full"]
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


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ([("engineers", 0.9), ("were", 0.9), ("in", 0.2)], ["Five engineers were ", "in", " it."]),
        ([("It", 0.9), ("was", 0.9), ("in", 0.9), ("it.", 0.2)], ["It was in ", "it.", ""]),
        ([("Ads,", 0.9), ("as", 0.2)], ["Ads, ", "as", " it was."]),
        ([("我们", 0.9), ("用", 0.9), ("Kafka", 0.2)], ["我们用", "Kafka", "做的"]),
        (
            [("end.", 0.9), ("We", 0.1)],
            ["", "We", " cut it, and so it went on for a very long time. The end."],
        ),
    ],
)
async def test_an_unclear_word_is_marked_where_it_was_said_and_never_inside_another(
    page: Page, words: list[tuple[str, float]], runs: list[str]
) -> None:
    heard = [{"text": word, "start_s": 0, "end_s": 0, "confidence": sure} for word, sure in words]
    found = await run(page, "transcript", "return m.runs(a[0], a[1]);", ["".join(runs), heard])
    assert [part["text"] for part in found] == [text for text in runs if text]
    assert [part["text"] for part in found if part["unclear"]] == [runs[1]]


async def test_a_name_put_right_says_what_was_heard_though_it_is_unclear_too(page: Page) -> None:
    words = [("Redis,", 0.3, "riddies,"), ("and", 0.9, ""), ("cache", 0.2, "")]
    runs = await run(
        page,
        "transcript",
        "return m.runs('We ran Redis, and cache', a);",
        [
            {"text": text, "start_s": 0, "end_s": 0, "confidence": sure, "heard": heard}
            for text, sure, heard in words
        ],
    )
    assert [(part["text"], part["heard"]) for part in runs if part["heard"]] == [("Redis,", "riddies,")]
    shown = """
    document.body.insertAdjacentHTML("beforeend", "<div id=box><p class=words-placeholder></p></div>");
    const shown = new m.Transcript(document.getElementById("box"));
    const said = (utterance, text, words) =>
      shown.utterances.final({ utterance, text, words, low_confidence: false, start_s: utterance });
    said(1, "We ran Redis, and cache", a);
    said(2, "然后上线。", []);
    said(3, "结果很好。", []);
    shown.render();
    const marked = document.querySelector(".put-right");
    const unclear = document.querySelectorAll(".unclear").length;
    return [shown.text, marked.textContent, marked.title.length > 0, unclear];
    """
    placed = [
        {"text": t, "start_s": 0, "end_s": 0, "confidence": sure, "heard": heard} for t, sure, heard in words
    ]
    told = await run(page, "transcript", shown, placed)
    assert told == ["We ran Redis, and cache 然后上线。结果很好。", "Redis,", True, 1]


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
