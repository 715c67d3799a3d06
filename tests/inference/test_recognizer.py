"""The real model in its real process: what it hears, what survives when it hangs, crashes or is missing.

What it shares with every other recogniser is in test_recognizer_contract.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from array import array
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random

import pytest
import pytest_asyncio

from inference.adapters.faster_whisper import FasterWhisperRecognizer
from inference.audio import SAMPLE_RATE, duration_s
from inference.config import RecognizerConfig
from inference.ports import EngineUnavailable, Priority, Speech, Transcript
from tests.inference.spoken import ROOT, clip, clips, errors

pytestmark = [pytest.mark.model, pytest.mark.asyncio(loop_scope="module")]

WITHIN_S = 30.0
FINAL, PARTIAL = Priority.FINAL, Priority.PARTIAL


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(model_dir: Path) -> AsyncIterator[FasterWhisperRecognizer]:
    """One loaded model for the tests that only listen."""
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    yield recognizer
    await recognizer.aclose()


@pytest_asyncio.fixture(loop_scope="module")
async def ears(model_dir: Path) -> AsyncIterator[FasterWhisperRecognizer]:
    """Patient: whoever waits for a deadline here waits longer than any test does."""
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir, kill_after_s=3 * WITHIN_S))
    await recognizer.start()
    yield recognizer
    await recognizer.aclose()


def seconds(pcm: bytes, start_s: float, end_s: float) -> bytes:
    return pcm[round(start_s * SAMPLE_RATE) * 2 : round(end_s * SAMPLE_RATE) * 2]


def noise(length_s: float, amplitude: int) -> bytes:
    random = Random(7)  # noqa: S311 - noise, not a secret
    samples = (random.randint(-amplitude, amplitude) for _ in range(round(length_s * SAMPLE_RATE)))
    return array("h", samples).tobytes()


STAR = clip("star_quantified").pcm
TAIL = seconds(STAR, 14.2, 20.4)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


async def eventually(holds: Callable[[], bool], within_s: float = WITHIN_S) -> None:
    async with asyncio.timeout(within_s):
        while not holds():
            await asyncio.sleep(0.02)


async def test_speech_becomes_words_with_times_and_confidence(shared: FasterWhisperRecognizer) -> None:
    heard = await shared.transcribe(Speech(TAIL, "en"), FINAL)
    assert heard.text.startswith("As a result, latency fell by")
    assert [word.text for word in heard.words][:3] == ["As", "a", "result,"]
    assert " ".join(word.text for word in heard.words) == heard.text
    times = [time_s for word in heard.words for time_s in (word.start_s, word.end_s)]
    assert times == sorted(times)
    assert 0 <= times[0] < 0.5
    assert 5.5 < times[-1] <= duration_s(TAIL)
    assert 0.8 < heard.confidence <= 1.0
    assert not heard.low_confidence
    assert heard.decode_s > 0


async def test_word_times_fit_the_pauses_of_the_recording(shared: FasterWhisperRecognizer) -> None:
    heard = await shared.transcribe(Speech(seconds(clip("injection").pcm, 0, 6.5), "en"), FINAL)
    after_pause = next(word for word in heard.words if word.text.lower().startswith("give"))
    assert abs(after_pause.start_s - 3.15) < 0.35


async def test_a_whole_answer_is_heard_within_a_tenth_of_its_words(shared: FasterWhisperRecognizer) -> None:
    cuts = [(0.0, 8.05), (8.15, 14.2), (14.2, 20.4)]
    pieces = [await shared.transcribe(Speech(seconds(STAR, *cut), "en"), FINAL) for cut in cuts]
    wrong, total = errors(clip("star_quantified").text, " ".join(piece.text for piece in pieces))
    assert wrong / total <= 0.10


async def test_speech_in_another_language_than_asked_for_is_not_translated(
    shared: FasterWhisperRecognizer,
) -> None:
    heard = await shared.transcribe(Speech(TAIL, "zh"), FINAL)
    assert heard.language == "en"
    assert "latency" in heard.text


async def test_chinese_is_simplified_and_its_language_is_found(
    shared: FasterWhisperRecognizer, recorded: Path
) -> None:
    wrong = total = 0
    for spoken in [one for one in clips(recorded) if one.language == "zh"]:
        heard = await shared.transcribe(Speech(spoken.pcm, None), FINAL)
        assert heard.language == "zh"
        wrong += errors(spoken.text, heard.text)[0]
        total += errors(spoken.text, heard.text)[1]
        assert not set(heard.text) & set("聽說語識讓廣產協會獲")
        assert "".join(word.text for word in heard.words) == heard.text.replace(" ", "")
    assert wrong / total <= 0.30


@pytest.mark.parametrize("name", ["silence", "pink_noise", "keyboard"])
async def test_terms_never_come_out_of_silence_or_noise(shared: FasterWhisperRecognizer, name: str) -> None:
    terms = clip("jargon").terms
    heard = await shared.transcribe(Speech(clip(name).pcm, "en", terms, voiced_s=0.0), FINAL)
    assert not any(term.lower() in heard.text.lower() for term in terms)


async def test_terms_help_to_hear_names(shared: FasterWhisperRecognizer) -> None:
    jargon = clip("jargon")
    pcm = seconds(jargon.pcm, 0, 8.0)
    plain = await shared.transcribe(Speech(pcm, "en"), FINAL)
    helped = await shared.transcribe(Speech(pcm, "en", jargon.terms), FINAL)
    assert errors(jargon.text, helped.text) < errors(jargon.text, plain.text)
    assert "Kafka" in helped.text


@pytest.mark.parametrize("pcm", [noise(3, 32_767), noise(30, 300)])
async def test_no_sound_breaks_the_recogniser(shared: FasterWhisperRecognizer, pcm: bytes) -> None:
    pid = shared.worker_pid
    heard = await shared.transcribe(Speech(pcm, "en"), FINAL)
    assert isinstance(heard, Transcript)
    assert shared.worker_pid == pid


async def test_who_is_waited_for_or_works_most_of_the_time_is_busy(ears: FasterWhisperRecognizer) -> None:
    asked = [asyncio.create_task(ears.transcribe(Speech(TAIL, "en"), FINAL)) for _ in range(3)]
    await eventually(lambda: ears.waiting > 0)
    assert ears.busy
    await asyncio.gather(*asked)
    await eventually(lambda: not ears.busy)


async def test_a_waiting_request_that_is_cancelled_is_never_decoded(ears: FasterWhisperRecognizer) -> None:
    running = asyncio.create_task(ears.transcribe(Speech(TAIL, "en"), FINAL))
    await asyncio.sleep(0.05)
    given_up = asyncio.create_task(ears.transcribe(Speech(STAR[: 25 * 32_000], "en"), FINAL))
    await asyncio.sleep(0.05)
    given_up.cancel()
    await running
    assert "No" in (await ears.transcribe(Speech(clip("short_no").pcm, "en"), FINAL)).text
    assert ears.counters["given_up"] == 1


async def test_cancelling_a_running_decode_keeps_the_worker(ears: FasterWhisperRecognizer) -> None:
    pid = ears.worker_pid
    running = asyncio.create_task(ears.transcribe(Speech(TAIL, "en"), FINAL))
    await asyncio.sleep(0.1)
    running.cancel()
    assert "No" in (await ears.transcribe(Speech(clip("short_no").pcm, "en"), FINAL)).text
    assert ears.worker_pid == pid


async def test_a_crash_is_noticed_at_once_and_costs_no_answer(ears: FasterWhisperRecognizer) -> None:
    pid = ears.worker_pid
    assert pid is not None
    asked = asyncio.create_task(ears.transcribe(Speech(TAIL, "en", full_window=True), FINAL))
    queued = asyncio.create_task(ears.transcribe(Speech(clip("short_no").pcm, "en"), FINAL))
    await asyncio.sleep(0.15)
    os.kill(pid, signal.SIGABRT)
    await eventually(lambda: ears.worker_pid not in {None, pid})
    assert "latency" in (await asked).text
    assert "No" in (await queued).text
    assert ears.counters["retried"] == 1
    assert ears.counters["worker_lost"] == 1
    assert not alive(pid)


async def test_an_utterance_that_crashes_twice_fails_alone(ears: FasterWhisperRecognizer) -> None:
    asked = asyncio.create_task(ears.transcribe(Speech(TAIL, "en", full_window=True), FINAL))
    queued = asyncio.create_task(ears.transcribe(Speech(clip("short_no").pcm, "en"), FINAL))
    for _ in range(2):
        await eventually(lambda: ears.ready)
        pid = ears.worker_pid
        assert pid is not None
        await asyncio.sleep(0.15)
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda pid=pid: ears.worker_pid != pid)  # type: ignore[misc]
    with pytest.raises(EngineUnavailable, match="failed twice"):
        await asked
    assert "No" in (await queued).text
    assert (ears.counters["retried"], ears.counters["failed"]) == (1, 1)


async def test_a_hung_decode_is_killed_after_its_time_and_tried_again(model_dir: Path) -> None:
    config = RecognizerConfig(model_dir, kill_after_s=3.0)
    recognizer = FasterWhisperRecognizer(config)
    await recognizer.start()
    pid = recognizer.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    short = clip("short_no").pcm
    heard = await recognizer.transcribe(Speech(short, "en"), FINAL)
    took_s = time.monotonic() - began
    assert "No" in heard.text
    assert took_s >= 3.0 + duration_s(short)
    assert not alive(pid)
    assert recognizer.counters["worker_lost"] == 1
    await recognizer.aclose()


async def test_waiting_never_counts_against_a_request(model_dir: Path) -> None:
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir, kill_after_s=4.0))
    await recognizer.start()
    short = Speech(seconds(clip("short_no").pcm, 0, 1.2), "en", with_words=False)
    heard = await asyncio.gather(*(recognizer.transcribe(short, FINAL) for _ in range(20)))
    assert len(heard) == 20
    assert recognizer.counters["worker_lost"] == 0
    await recognizer.aclose()


async def test_a_worker_that_dies_idle_is_replaced_before_it_is_needed(ears: FasterWhisperRecognizer) -> None:
    pid = ears.worker_pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await eventually(lambda: ears.worker_pid not in {None, pid})
    heard = await ears.transcribe(Speech(clip("short_no").pcm, "en"), FINAL)
    assert "No" in heard.text
    assert ears.counters["retried"] == 0


async def test_two_sessions_at_once_both_hear_their_own_words(shared: FasterWhisperRecognizer) -> None:
    async def session(name: str, times: int) -> list[str]:
        pcm = clip(name).pcm
        return [(await shared.transcribe(Speech(pcm, "en"), FINAL)).text for _ in range(times)]

    first, second = await asyncio.gather(session("off_topic", 4), session("two_sentences_fast", 4))
    assert all("lake" in text for text in first)
    assert all("both sides" in text for text in second)


async def test_closing_answers_everybody_and_leaves_no_process(model_dir: Path) -> None:
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    await recognizer.start()
    pid = recognizer.worker_pid
    assert pid is not None
    asked = [asyncio.create_task(recognizer.transcribe(Speech(TAIL, "en"), FINAL)) for _ in range(3)]
    await asyncio.sleep(0.05)
    await recognizer.aclose()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(answer, EngineUnavailable) for answer in answers)
    assert not alive(pid)
    with pytest.raises(EngineUnavailable):
        await recognizer.transcribe(Speech(TAIL, "en"), FINAL)


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.5])
async def test_closing_while_the_model_loads_does_not_hang(model_dir: Path, after_s: float) -> None:
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    asked = asyncio.create_task(recognizer.transcribe(Speech(TAIL, "en"), FINAL))
    await asyncio.sleep(after_s)
    async with asyncio.timeout(WITHIN_S):
        await recognizer.aclose()
    if after_s:
        with pytest.raises(EngineUnavailable):
            await asked
    asked.cancel()


async def refused(model_dir: Path | None) -> str:
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    try:
        with pytest.raises(EngineUnavailable) as caught:
            await recognizer.start()
        async with asyncio.timeout(WITHIN_S):  # nobody waits for a model that is not there
            with pytest.raises(EngineUnavailable):
                await recognizer.transcribe(Speech(TAIL, "en"), FINAL)
        return str(caught.value)
    finally:
        await recognizer.aclose()


async def test_a_missing_model_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    for folder in (None, tmp_path / "nowhere"):
        line = await refused(folder)
        assert "manage.py models" in line
        assert "\n" not in line


def workers() -> set[int]:
    """The worker processes of this test's process."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return {int(pid) for pid in children if b"whisper_worker" in Path(f"/proc/{pid}/cmdline").read_bytes()}


async def test_a_worker_killed_while_it_loads_is_no_fault_of_the_model_files(model_dir: Path) -> None:
    others = workers()
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    starting = asyncio.create_task(recognizer.start())
    while not (loading := workers() - others):
        await asyncio.sleep(0.01)
    os.kill(loading.pop(), signal.SIGKILL)
    with pytest.raises(EngineUnavailable, match="was killed") as caught:
        await starting
    await recognizer.aclose()
    assert "fetch" not in str(caught.value)
    assert model_dir.name in str(caught.value)


@pytest.mark.parametrize("damage", ["model.bin", "config.json", "tokenizer.json"])
async def test_a_corrupt_model_is_one_line_that_says_what_to_do(
    model_dir: Path, tmp_path: Path, damage: str
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in model_dir.iterdir():
        if path.suffix in {".bin", ".json", ".txt"}:
            shutil.copy(path, broken) if path.name == damage else (broken / path.name).symlink_to(path)
    os.truncate(broken / damage, 1000)
    line = await refused(broken)
    assert "manage.py models" in line
    assert "\n" not in line


async def test_no_word_reaches_a_log_line(
    ears: FasterWhisperRecognizer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    asked = asyncio.create_task(ears.transcribe(Speech(TAIL, "en", ("canarysong",)), FINAL))
    await asyncio.sleep(0.1)
    if ears.worker_pid is not None:
        os.kill(ears.worker_pid, signal.SIGKILL)
    await asked
    assert "latency" not in caplog.text
    assert "canarysong" not in caplog.text
    assert "recogniser process" in caplog.text


ORPHAN = """
import asyncio, sys
from pathlib import Path
from inference.adapters.faster_whisper import FasterWhisperRecognizer
from inference.config import RecognizerConfig
from inference.ports import Priority, Speech

async def main():
    recognizer = FasterWhisperRecognizer(RecognizerConfig(Path(sys.argv[1])))
    await recognizer.start()
    asyncio.create_task(recognizer.transcribe(Speech(b"\\1\\2" * 16000 * 25, "en"), Priority.FINAL))
    await asyncio.sleep(0.2)
    loaded = [m for m in ("faster_whisper", "ctranslate2", "numpy", "av") if m in sys.modules]
    print(recognizer.worker_pid, loaded, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_the_worker_dies_with_its_parent_even_after_kill_9(model_dir: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(model_dir)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout:
        pid, loaded = (await asyncio.to_thread(parent.stdout.readline)).split(" ", 1)
    assert loaded.strip() == "[]", "the parent must not carry the model library"
    parent.kill()
    parent.wait()
    await eventually(lambda: not alive(int(pid)))


async def test_waiting_and_decoding_are_observed(model_dir: Path) -> None:
    figures: list[tuple[str, float]] = []
    recognizer = FasterWhisperRecognizer(
        RecognizerConfig(model_dir), lambda name, value: figures.append((name, value))
    )
    await recognizer.transcribe(Speech(clip("short_no").pcm, "en"), FINAL)
    await recognizer.aclose()
    seen = dict(figures)
    assert seen["asr_wait_s"] >= 0
    assert 0 < seen["asr_decode_s"] < 30
