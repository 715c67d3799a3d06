"""One speech server: what it is asked, what its answers are worth, how each failure ends. Real sockets."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from inference.adapters.openai_asr import AsrBusy, AsrUnavailable, OpenAiRecognizer
from inference.config import RemoteAsrConfig
from inference.ports import Priority, Speech, Transcript
from tests.inference.asr_server import SpeechServer, said, speech_server
from tests.inference.llm.scripted_server import LAST, Ending, Script, chunk, head, whole
from tests.inference.llm.support import deaf_port, unused_port
from tests.inference.spoken import clip

WITHIN_S = 60.0
SHORT = clip("short_no").pcm
LONGER = clip("off_topic").pcm
TEXT = "No, I have not."
PLAIN = ["No", "I", "have", "not"]
LOOP = "I went to the lake. " * 6


@asynccontextmanager
async def recognizer(
    server: SpeechServer | str, counts: Counter[str] | None = None, **limits: Any
) -> AsyncIterator[OpenAiRecognizer]:
    url = server if isinstance(server, str) else server.url
    config = RemoteAsrConfig((url,), **({"total_s": WITHIN_S, "connect_s": WITHIN_S} | limits))
    seen = Counter[str]() if counts is None else counts
    built = OpenAiRecognizer(url, config, lambda name, _: seen.update([name]))
    try:
        yield built
    finally:
        await built.aclose()


async def heard(script: Script, speech: Speech | None = None) -> Transcript:
    async with speech_server(script) as server, recognizer(server) as ears:
        return await ears.transcribe(speech or Speech(SHORT, "en"), Priority.FINAL)


async def failure(script: Script, **limits: Any) -> AsrUnavailable:
    counts = Counter[str]()
    async with speech_server(script) as server, recognizer(server, counts, **limits) as ears:
        with pytest.raises(AsrUnavailable) as caught:
            await ears.transcribe(Speech(SHORT[16_000:32_000], "en"), Priority.FINAL)
    assert counts == {f"asr_server_failed:{caught.value.reason}": 1}
    return caught.value


async def test_a_server_is_asked_for_words_with_language_terms_and_key() -> None:
    async with (
        speech_server(said("We use Kafka.")) as server,
        recognizer(server, model="large", api_key="secret") as ears,
    ):
        await ears.transcribe(Speech(LONGER, "en", ("Kafka", "gRPC")), Priority.FINAL)
    (asked,) = server.asked
    assert asked.path == "/v1/audio/transcriptions"
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.fields == {
        "model": "large",
        "language": "en",
        "prompt": "Kafka, gRPC",
        "response_format": "verbose_json",
        "timestamp_granularities[]": "word",
        "temperature": "0",
    }
    assert asked.pcm == LONGER


async def test_a_language_that_is_not_known_is_not_named_and_the_servers_is_taken() -> None:
    script = said("今天讨论缓存。", language="chinese", words=None)
    async with speech_server(script) as server, recognizer(server) as ears:
        transcript = await ears.transcribe(Speech(LONGER, None), Priority.FINAL)
    assert "language" not in server.asked[0].fields
    assert transcript.language == "zh"


async def test_without_any_language_the_text_tells_it() -> None:
    assert (
        await heard(said("今天讨论缓存。", language=None, words=None), Speech(SHORT, None))
    ).language == "zh"


async def test_a_language_that_is_not_ours_is_unsure() -> None:
    transcript = await heard(said(TEXT, language="welsh"))
    assert (transcript.language, transcript.low_confidence) == ("en", True)


async def test_short_sounds_and_second_tries_go_without_terms() -> None:
    async with speech_server(said(TEXT)) as server, recognizer(server) as ears:
        await ears.transcribe(Speech(LONGER, "en", ("Kafka", "gRPC"), voiced_s=0.5), Priority.FINAL)
        await ears.transcribe(Speech(LONGER, "en", ("Kafka", "gRPC"), full_window=True), Priority.FINAL)
    assert all("prompt" not in asked.fields for asked in server.asked)


async def test_chinese_is_simplified_in_text_and_words() -> None:
    words = [{"word": char, "start": i * 0.2, "end": i * 0.2 + 0.2} for i, char in enumerate("這個產品")]
    transcript = await heard(said("這個產品。", language="zh", words=words), Speech(SHORT, "zh"))
    assert transcript.text == "这个产品。"
    assert [word.text for word in transcript.words] == list("这个产品")


async def test_words_without_marks_get_those_of_the_text() -> None:
    words = [{"word": word, "start": i * 0.2, "end": i * 0.2 + 0.2} for i, word in enumerate(PLAIN)]
    transcript = await heard(said(TEXT, words=words))
    assert [word.text for word in transcript.words] == ["No,", "I", "have", "not."]
    assert {word.confidence for word in transcript.words} == {0.5}  # the server says nothing of it


@pytest.mark.parametrize(
    "words",
    [
        None,
        [],
        [{"word": "Yes", "start": 0, "end": 1}],
        [{"word": word, "start": 3 - i, "end": 4 - i} for i, word in enumerate(PLAIN)],
    ],
    ids=["none", "empty", "others", "out of order"],
)
async def test_words_that_are_not_the_texts_are_none(words: Any) -> None:
    transcript = await heard(said(TEXT, words=words))
    assert (transcript.text, transcript.words) == (TEXT, ())


async def test_segments_tell_the_confidence_where_words_do_not() -> None:
    unsure = await heard(said(TEXT, words=None, segments=[{"avg_logprob": -1.6}, {"avg_logprob": -1.4}]))
    assert unsure.low_confidence
    assert 0.2 < unsure.confidence < 0.25


async def test_a_servers_words_that_end_before_the_voice_are_doubted() -> None:
    words = [{"word": word, "start": i / 4, "end": i / 4 + 0.2} for i, word in enumerate(PLAIN)]
    for voice_end_s, doubted in ((len(PLAIN) / 4, False), (len(PLAIN) / 4 + 2.0, True)):
        transcript = await heard(said(TEXT, words=words), Speech(LONGER, "en", voice_end_s=voice_end_s))
        assert (transcript.low_confidence, transcript.untried) == (doubted, doubted)


async def test_a_guess_is_asked_without_words() -> None:
    async with speech_server(said(TEXT)) as server, recognizer(server) as ears:
        guess = await ears.transcribe(Speech(SHORT, "en", with_words=False), Priority.PARTIAL)
    assert "timestamp_granularities[]" not in server.asked[0].fields
    assert (guess.text, guess.words) == (TEXT, ())


async def test_a_server_that_refuses_the_form_is_asked_for_less_and_remembered() -> None:
    plain = whole("200 OK", json.dumps({"text": TEXT}).encode())
    scripts = [whole("400 Bad Request"), whole("422 Unprocessable"), plain]
    async with speech_server(*scripts) as server, recognizer(server) as ears:
        for _ in range(2):
            assert (await ears.transcribe(Speech(SHORT, "en"), Priority.FINAL)).text == TEXT
    assert [asked.fields["response_format"] for asked in server.asked] == [
        "verbose_json",
        "verbose_json",
        "json",
        "json",
    ]


@pytest.mark.parametrize(
    ("text", "speech"),
    [
        (LOOP, Speech(LONGER, "en")),
        ("word " * 400, Speech(SHORT, "en")),
        ("No.", Speech(LONGER, "en", voiced_s=4.0)),
        ("Kafka, gRPC", Speech(LONGER, "en", ("Kafka", "gRPC"), voiced_s=2.0)),
    ],
    ids=["loop", "more than can be said", "truncated", "the terms themselves"],
)
async def test_our_guards_doubt_a_servers_reading_too(text: str, speech: Speech) -> None:
    transcript = await heard(said(text, words=None), speech)
    assert (transcript.low_confidence, transcript.untried) == (True, True)


@pytest.mark.parametrize("text", ["Thanks for watching!", "Subtitles by the community"])
async def test_what_models_invent_over_noise_is_no_text(text: str) -> None:
    assert (await heard(said(text), Speech(clip("keyboard").pcm, "en", voiced_s=0.3))).text == ""


async def test_what_has_no_voice_is_not_even_sent() -> None:
    async with speech_server(said("Thank you.")) as server, recognizer(server) as ears:
        for nothing in (Speech(bytes(320_000), "en"), Speech(LONGER, "en", voiced_s=0.1)):
            assert (await ears.transcribe(nothing, Priority.FINAL)).text == ""
    assert server.asked == []


async def test_lines_and_control_characters_become_one_line() -> None:
    assert (await heard(said(" No,\n I\0 have\tnot. \n", words=None))).text == TEXT


BYTES = json.dumps({"text": TEXT * 100}).encode()
DRIP: list[bytes | float | Ending] = [head()]
for _byte in BYTES:
    DRIP += [chunk(bytes([_byte])), 0.05]
BLANK: list[bytes | float | Ending] = [chunk(b" "), 0.05]
BLANKS: Script = [head(), chunk(b'{"text":'), *BLANK * 2000, LAST]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (whole("200 OK", b"{'text': no"), "invalid"),
        (whole("200 OK", b"<html>gateway</html>", "text/html"), "invalid"),
        (whole("200 OK", b""), "invalid"),
        (whole("200 OK", b"[]"), "invalid"),
        (whole("200 OK", b'{"txt": "No"}'), "invalid"),
        (whole("200 OK", b'{"text": 7}'), "invalid"),
        (whole("200 OK", b'{"text": "\\ud800"}'), "invalid"),
        (whole("200 OK", b'{"text": "\xff"}'), "invalid"),
        (whole("200 OK", b'{"text": "No", "words": [{"word": "No", "start": NaN, "end": 1}]}'), "invalid"),
        (whole("200 OK", b'{"text": "No", "words": [{"word": "No", "start": -1, "end": 1}]}'), "invalid"),
        (whole("200 OK", b'{"text": ' + b"[" * 100_000), "invalid"),
        (whole("200 OK", b"\x1f\x8b", extra="Content-Encoding: gzip\r\n"), "invalid"),
        (whole("200 OK", b'{"text": "' + b"a" * 2_000_000 + b'"}'), "too_long"),
        (whole("500 Internal Server Error", b"{}"), "http_5xx"),
        (whole("502 Bad Gateway", b"<html>"), "http_5xx"),
        (whole("401 Unauthorized"), "refused"),
        (whole("404 Not Found"), "refused"),
        (whole("302 Found", extra="Location: http://127.0.0.1:9/\r\n"), "refused"),
        (whole("429 Too Many Requests"), "busy"),
        ([Ending.CUT], "broken_off"),
        ([head(), chunk(b'{"text": "No'), Ending.CUT], "broken_off"),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"text\"", Ending.CUT], "broken_off"),
        ([b"SSH-2.0-OpenSSH\r\n", Ending.CUT], "broken_off"),
    ],
)  # fmt: skip
async def test_what_is_no_answer_fails_with_a_reason(script: Script, reason: str) -> None:
    assert (await failure(script)).reason == reason


async def test_audio_that_is_refused_in_every_form_is_no_fault_of_the_server() -> None:
    refused = await failure(whole("400 Bad Request"))
    assert (refused.reason, refused.server_at_fault) == ("rejected", False)


@pytest.mark.parametrize(
    "script",
    [[Ending.HANG], [head(), Ending.HANG], DRIP, BLANKS],
    ids=["no answer", "a head", "a byte at a time", "white space without end"],
)
async def test_the_whole_call_has_one_deadline(script: Script) -> None:
    """httpx's own timeouts start again with every byte."""
    assert (await failure(script, total_s=0.3)).reason == "slow"


async def test_a_busy_server_says_for_how_long() -> None:
    busy = await failure(whole("429 Too Many Requests", extra="Retry-After: 7\r\n"))
    assert isinstance(busy, AsrBusy)
    assert (busy.retry_after_s, busy.server_at_fault) == (7.0, False)
    for_ever = await failure(whole("429 Too Many Requests", extra="Retry-After: 86400\r\n"))
    assert isinstance(for_ever, AsrBusy)
    assert for_ever.retry_after_s == 30.0


async def test_who_refuses_or_ignores_a_connection_is_given_up() -> None:
    async def reason(port: int) -> str:
        async with recognizer(f"http://127.0.0.1:{port}", connect_s=0.3) as ears:
            with pytest.raises(AsrUnavailable) as caught:
                await ears.transcribe(Speech(SHORT, "en"), Priority.FINAL)
        return caught.value.reason

    with unused_port() as closed, deaf_port() as deaf:
        assert (await reason(closed), await reason(deaf)) == ("connect", "connect")


async def test_a_caller_who_leaves_closes_the_connection() -> None:
    async with speech_server([Ending.HANG]) as server, recognizer(server) as ears:
        asked = asyncio.create_task(ears.transcribe(Speech(SHORT, "en"), Priority.FINAL))
        await until(lambda: server.active == 1)
        asked.cancel()
        await until(lambda: server.active == 0)
        assert server.asked[0].gone


async def test_neither_key_nor_address_nor_words_reach_a_log_line_or_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="inference")
    scripts = [
        said("canarysong"),
        whole("200 OK", b'{"text": canarysong'),
        whole("500 canarysong", b"canarysong"),
    ]
    told = ""
    async with speech_server(*scripts) as server, recognizer(server, api_key="canarykey") as ears:
        for script in scripts:
            try:
                await ears.transcribe(Speech(SHORT, "en", ("canaryterm",)), Priority.FINAL)
            except AsrUnavailable as exc:
                assert script is not scripts[0]
                told += f"{exc!r} {exc.__cause__!r} {exc.__suppress_context__}"
        told += repr(RemoteAsrConfig(api_key="canarykey"))
    assert told.count("True") == 2
    assert "canary" not in caplog.text + told
    assert str(server.port) not in caplog.text.replace("asyncio", "") + told


async def until(holds: Any) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not holds():
            await asyncio.sleep(0.01)
