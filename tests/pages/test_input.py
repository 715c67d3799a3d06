"""What microphones do wrong, in a real browser: rates, channels, offset, clipping, silence, going away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.async_api import Page, expect

from tests.pages.browser import SPEECH, agree, chromium, playing, shot, speak, visitor
from tests.pages.microphones import speech_at, write
from tests.pages.modules import run

pytestmark = pytest.mark.browser

SHOWN_MS = 60_000
DEVICE = "Fake Default Audio Input"

# The worklet itself, in a context that renders a tone as fast as it can, at any device's rate.
CAPTURE = """
const context = new OfflineAudioContext(1, a.rate * 2, a.rate);
await context.audioWorklet.addModule("/static/js/worklet.js");
const node = new AudioWorkletNode(context, "viva-capture", { numberOfInputs: 1 });
const frames = [];
node.port.onmessage = ({ data }) => frames.push(data);
const buffer = context.createBuffer(a.gains.length, a.rate * 2, a.rate);
a.gains.forEach((gain, channel) => {
  const samples = buffer.getChannelData(channel);
  for (let at = 0; at < samples.length; at += 1) {
    const sample = a.offset + gain * Math.sin((2 * Math.PI * 440 * at) / a.rate);
    samples[at] = Math.max(-1, Math.min(1, sample));
  }
});
const source = new AudioBufferSourceNode(context, { buffer });
source.connect(node).connect(context.destination);
source.start();
await context.startRendering();
while (frames.length < 19) await new Promise((resolve) => setTimeout(resolve, 10));
const pcm = frames.slice(5, 15).flatMap((frame) => [...new Int16Array(frame.pcm)]);
const mean = pcm.reduce((sum, one) => sum + one, 0) / pcm.length;
const rms = Math.sqrt(pcm.reduce((sum, one) => sum + one * one, 0) / pcm.length) / 32767;
let rises = 0;
for (let at = 1; at < pcm.length; at += 1) if (pcm[at - 1] < 0 && pcm[at] >= 0) rises += 1;
return { samples: pcm.length, mean, rms, rises, clipped: frames[10].clipped };
"""


async def captured(page: Page, rate: int, gains: list[float], offset: float = 0.0) -> dict[str, Any]:
    """One second of what the page makes of a tone, one gain a channel."""
    given = {"rate": rate, "gains": gains, "offset": offset}
    heard: dict[str, Any] = await run(page, "conditioning", CAPTURE, given)
    return heard


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
async def test_a_device_of_any_rate_is_captured_at_sixteen_kilohertz(page: Page, rate: int) -> None:
    heard = await captured(page, rate, [0.5])
    assert heard["samples"] == 16_000
    assert abs(heard["rises"] - 440) <= 1
    assert heard["rms"] == pytest.approx(0.5 / np.sqrt(2), rel=0.02)


@pytest.mark.asyncio(loop_scope="module")
async def test_two_channels_become_their_mean(page: Page) -> None:
    heard = await captured(page, 48_000, [0.6, 0.2])
    assert heard["rms"] == pytest.approx(0.4 / np.sqrt(2), rel=0.02)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_offset_is_taken_away(page: Page) -> None:
    heard = await captured(page, 44_100, [0.3], offset=0.4)
    assert abs(heard["mean"]) < 30
    assert heard["rms"] == pytest.approx(0.3 / np.sqrt(2), rel=0.02)


@pytest.mark.asyncio(loop_scope="module")
async def test_sound_at_the_limit_is_counted_also_where_only_one_channel_is(page: Page) -> None:
    assert (await captured(page, 48_000, [0.9]))["clipped"] == 0
    assert (await captured(page, 48_000, [1.4]))["clipped"] > 0.3
    assert (await captured(page, 48_000, [0.1, 1.4]))["clipped"] > 0.3


@pytest.mark.asyncio(loop_scope="module")
async def test_a_voice_is_too_loud_when_it_is_clipped_again_and_again_and_for_a_while_after(
    page: Page,
) -> None:
    body = "const loudness = new m.Loudness(); return a.map(([share, ms]) => loudness.heard(share, ms));"
    knocks = [[0.1, at * 1_000] for at in range(20)]
    assert await run(page, "loudness", body, knocks) == [False] * 20
    shouts = [[0.01 if at < 5 else 0.0, at * 100] for at in range(60)]
    assert await run(page, "loudness", body, shouts) == [False] * 4 + [True] * 51 + [False] * 5


@pytest.mark.asyncio(loop_scope="module")
async def test_nobody_is_asked_twice_within_one_question(page: Page) -> None:
    body = """
        const watch = new m.VoiceWatch(), asked = [];
        for (let at = 1; at <= 400; at += 1) {
          if (at === 50) watch.interrupt();
          if (at === 250) watch.begin();
          if (watch.waited(0.1)) asked.push(at);
        }
        return asked;
    """
    first, second = await run(page, "trouble", body)
    assert 148 <= first <= 151
    assert 348 <= second <= 351


TROUBLE = """
const strip = document.body.appendChild(Object.assign(document.createElement("div"), { id: "strip" }));
const told = [], uplink = { unsaved: 0, gap: () => told.push("gap") };
const page = {
  facts: { link: "live", turn: "open", problem: null }, frameMs: 100,
  microphone: { label: "USB", running: true }, answering: { uplink }, show: () => {},
  textRefused: () => told.push("refused"),
  strip: (key, actions = {}) => told.push([key, page.facts.device, ...Object.keys(actions)]),
};
const trouble = new m.SoundTrouble(page);
const quiet = (frames) => { for (let at = 0; at < frames; at += 1) trouble.captured(0.1); };
try {
"""


async def troubles(page: Page, body: str) -> list[Any]:
    """What is told to the candidate, each with the device's name and what can be done."""
    told: list[Any] = await run(
        page, "trouble", TROUBLE + body + "return told; } finally { strip.remove(); }"
    )
    return told


@pytest.mark.asyncio(loop_scope="module")
async def test_each_trouble_with_the_sound_says_what_can_be_done(page: Page) -> None:
    body = """
        trouble.told("rate_mismatch"); trouble.told("too_late");
        trouble.microphone("ended", "USB"); trouble.microphone("silent", "USB");
        trouble.loud(true, "USB");
    """
    assert await troubles(page, body) == [
        ["problem_rate_mismatch", "USB", "reload", "type_instead"],
        "refused",
        ["problem_too_late", "USB"],
        "gap",
        ["microphone_ended", "USB", "turn_on", "type_instead"],
        ["microphone_silent", "USB", "type_instead"],
        ["sound_loud", "USB", "type_instead"],
    ]


@pytest.mark.asyncio(loop_scope="module")
async def test_silence_counts_only_where_the_server_would_have_heard_a_voice(page: Page) -> None:
    body = """
        quiet(90); page.facts.turn = "thinking"; quiet(50); page.facts.turn = "open";
        page.facts.problem = "interrupted"; quiet(50); page.facts.problem = null;
        page.facts.link = "offline"; quiet(1); page.facts.link = "live";
        quiet(90); uplink.unsaved = 30; quiet(1); uplink.unsaved = 0;
        quiet(90); strip.dataset.key = "text_mode"; quiet(20);
        trouble.opened(); strip.dataset.key = ""; quiet(90); told.push("not yet"); quiet(200);
    """
    assert await troubles(page, body) == ["not yet", ["sound_unheard", "USB", "type_instead"]]


async def test_a_clipped_microphone_is_named_and_the_interview_may_begin(site: str, tmp_path: Path) -> None:
    shouting = write(tmp_path / "loud.wav", speech_at(48_000) * 60, 48_000)
    async with chromium(*playing(shouting)) as browser, visitor(browser) as page:
        await agree(page, site)
        await page.click("#turn-on")
        await expect(page.locator("#problem")).to_contain_text("very loud", timeout=SHOWN_MS)
        await expect(page.locator("#problem")).to_contain_text(DEVICE)
        await expect(page.locator("#start")).to_be_visible()
        await shot(page, "microphone-loud")


# A microphone in a quiet room, into which somebody speaks when the test says so.
ROOM = """
const open = MediaDevices.prototype.getUserMedia;
MediaDevices.prototype.getUserMedia = async function (wanted) {
  const room = new AudioContext(), out = room.createMediaStreamDestination();
  const buffer = room.createBuffer(1, room.sampleRate, room.sampleRate);
  buffer.getChannelData(0).forEach((_, at, all) => { all[at] = 0.1 + 0.002 * (Math.random() - 0.5); });
  const noise = new AudioBufferSourceNode(room, { buffer, loop: true });
  noise.connect(out);
  noise.start();
  globalThis.speak = async () => {
    room.createMediaStreamSource(await open.call(this, { audio: { channelCount: 2 } })).connect(out);
  };
  return out.stream;
};
"""


@pytest.mark.model
async def test_who_is_not_heard_is_asked_once_and_no_longer_when_there_is_a_voice(
    site: str, model_dir: Path, tmp_path: Path
) -> None:
    voice = speech_at(44_100)
    stereo = write(tmp_path / "stereo.wav", np.stack([voice, voice * 0.5], axis=1), 44_100)
    async with chromium(*playing(stereo)) as browser, visitor(browser, width=390, language="zh") as page:
        await page.add_init_script(ROOM)
        await speak(page, site)
        strip = page.locator("#strip-text")
        await expect(strip).to_contain_text("还没听到你的声音，不用着急", timeout=SHOWN_MS)
        await expect(strip).to_contain_text("“MediaStreamAudioDestinationNode”")
        await shot(page, "unheard-zh-390")
        await page.evaluate("speak()")
        await expect(page.locator("#strip")).to_be_hidden(timeout=SHOWN_MS)
        await expect(page.locator("#done")).to_be_enabled()  # the question is still open


# Every track that the page opens, so that a test can do to it what a phone or a cable does.
TRACKS = """
globalThis.tracks = [];
globalThis.order = [];
const open = MediaDevices.prototype.getUserMedia;
MediaDevices.prototype.getUserMedia = async function (wanted) {
  order.push("microphone");
  const stream = await open.call(this, wanted);
  tracks.push(...stream.getAudioTracks());
  return stream;
};
globalThis.AudioContext = class extends AudioContext {
  constructor(...given) { super(...given); order.push("context"); }
};
"""


async def test_a_track_that_is_muted_or_ends_is_told_of_and_comes_back_at_a_tap(site: str) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await page.add_init_script(TRACKS)
        await speak(page, site)
        await expect(page.locator("#done")).to_be_enabled(timeout=SHOWN_MS)
        assert await page.evaluate("order") == [
            "context",
            "microphone",
        ]  # made within the tap, where there is one
        strip = page.locator("#strip-text")
        mute = "tracks.at(-1).dispatchEvent(new Event('mute')); "
        told = await page.evaluate(mute + "document.getElementById('strip-text').textContent")
        assert f"“{DEVICE}” was interrupted" in told
        await expect(page.locator("#strip")).to_be_hidden(timeout=SHOWN_MS)  # sound comes again
        await page.evaluate("tracks.at(-1).stop(); tracks.at(-1).dispatchEvent(new Event('ended'))")
        await expect(page.locator("#strip")).to_be_hidden(timeout=SHOWN_MS)  # another one was there
        assert await page.evaluate("tracks.map((track) => track.readyState)") == ["ended", "live"]
        await expect(page.locator("#done")).to_be_enabled()  # the answer goes on
        await page.evaluate(
            "navigator.mediaDevices.getUserMedia = "
            "async () => { throw new DOMException('', 'NotFoundError'); }; 0"
        )
        await page.evaluate("tracks.at(-1).stop(); tracks.at(-1).dispatchEvent(new Event('ended'))")
        await expect(strip).to_contain_text("No microphone was found")
        await shot(page, "track-ended")
        await page.evaluate("delete navigator.mediaDevices.getUserMedia")
        await page.click("#strip-action")
        await expect(page.locator("#strip")).to_be_hidden(timeout=SHOWN_MS)
        assert (await page.evaluate("tracks.map((track) => track.readyState)"))[-1] == "live"
        await page.click("#finish")
        await page.click("#finish-yes")
        await page.wait_for_url("**/report/", timeout=SHOWN_MS)


LIGHT = """
const frames = [], problems = [], tracks = [];
const wait = async (true_) => { while (!true_()) await new Promise((resolve) => setTimeout(resolve, 20)); };
const opened = async (url) => {
  const microphone = new m.Microphone(url, {
    onFrame: () => frames.push(1), onProblem: (problem) => problems.push(problem),
  });
  await microphone.start("");
  return microphone;
};
const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  const stream = await open(wanted);
  tracks.push(...stream.getAudioTracks());
  return stream;
};
const microphone = await opened("/static/js/worklet.js");
await wait(() => frames.length > 2);
"""


async def test_the_microphone_s_light_goes_off_with_its_use_and_while_muted_no_frame_comes(site: str) -> None:
    """A track that has ended is what turns it off; also where the sound could not be used."""
    body = """
        microphone.mute(true);
        const before = frames.length, enabled = tracks[0].enabled;
        await microphone.flush(); // the audio thread went on meanwhile
        await microphone.flush();
        const muted = frames.length - before;
        microphone.mute(false);
        await wait(() => frames.length > before + 2);
        const using = tracks[0].readyState;
        microphone.stop();
        await opened("/static/js/absent.js");
        return [enabled, muted, using, ...tracks.map((track) => track.readyState), problems.at(-1)];
    """
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await page.goto(site)
        told = await run(page, "microphone", LIGHT + body)
    assert told == [False, 0, "live", "ended", "ended", "failed"]
