"""Recordings over HTTP: whole, in part, and never to strangers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.test import AsyncRequestFactory, Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker, Settings

from apps.interviews.media import ByteRange, byte_range, ranged_file
from apps.interviews.models import Interview, Turn
from tests.database import site_database
from tests.live.stack import Person, Server

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "0001.wav"
    path.write_bytes(CONTENT)
    return path


def fetched(path: Path, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    response = ranged_file(RequestFactory(headers=headers).get("/"), path, etag="abc")
    return response.status_code, response.getvalue(), dict(response.headers)


def test_without_a_range_the_whole_file_comes(recording: Path) -> None:
    status, body, headers = fetched(recording)
    assert (status, body) == (200, CONTENT)
    assert headers["Accept-Ranges"] == "bytes"
    assert headers["Cache-Control"] == "private, no-store"


@pytest.mark.parametrize(
    ("header", "start", "stop"),
    [("bytes=0-99", 0, 100), ("bytes=1000-", 1000, 256_000), ("bytes=-50", 255_950, 256_000),
     ("bytes=255999-999999", 255_999, 256_000), ("bytes=-999999", 0, 256_000)],
)  # fmt: skip
def test_a_range_is_answered_with_exactly_its_bytes(
    recording: Path, header: str, start: int, stop: int
) -> None:
    status, body, headers = fetched(recording, Range=header)
    assert (status, body) == (206, CONTENT[start:stop])
    assert headers["Content-Range"] == f"bytes {start}-{stop - 1}/256000"
    assert headers["Content-Length"] == str(stop - start)
    assert headers["Content-Type"] == "audio/wav"


@pytest.mark.parametrize("header", ["bytes=256000-", "bytes=999999-1000000", "bytes=-0"])
def test_a_range_beyond_the_end_is_refused_with_the_size(recording: Path, header: str) -> None:
    status, body, headers = fetched(recording, Range=header)
    assert (status, body) == (416, b"")
    assert headers["Content-Range"] == "bytes */256000"


@pytest.mark.parametrize("header", ["items=0-1", "bytes=5-2", "bytes=0-1,5-6", "bytes=-", "nonsense"])
def test_a_range_we_do_not_serve_is_ignored(recording: Path, header: str) -> None:
    assert fetched(recording, Range=header)[:2] == (200, CONTENT)


def test_a_changed_recording_is_sent_whole(recording: Path) -> None:
    assert fetched(recording, Range="bytes=0-9", **{"If-Range": '"abc"'})[0] == 206
    assert fetched(recording, Range="bytes=0-9", **{"If-Range": '"older"'})[0] == 200


def test_head_tells_the_size_and_sends_nothing(recording: Path) -> None:
    response = ranged_file(RequestFactory().head("/"), recording)
    assert response["Content-Length"] == "256000"
    assert response.getvalue() == b""


def test_a_missing_recording_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(Http404):
        ranged_file(HttpRequest(), tmp_path / "none.wav")


def test_under_asgi_a_recording_comes_block_by_block(recording: Path) -> None:
    async def blocks() -> list[bytes]:
        request = AsyncRequestFactory().get("/", headers={"Range": "bytes=10-199999"})
        response = ranged_file(request, recording)
        assert isinstance(response, StreamingHttpResponse)
        content = response.streaming_content
        assert isinstance(content, AsyncIterator)
        return [block async for block in content]

    received = asyncio.run(blocks())
    assert b"".join(received) == CONTENT[10:200_000]
    assert max(map(len, received)) <= 64 * 1024


@given(st.text("bytes=-0123456789, ", max_size=30), st.integers(0, 5000))
def test_any_header_gives_a_range_inside_the_file_or_an_answer(header: str, size_bytes: int) -> None:
    try:
        part = byte_range(header, size_bytes)
    except ValueError:
        return
    if part is not None:
        assert isinstance(part, ByteRange)
        assert 0 <= part.start < part.stop <= size_bytes


def test_the_candidate_hears_the_own_answer(client: Client, interview: Interview, settings: Settings) -> None:
    Path(settings.MEDIA_ROOT, "a").mkdir()
    Path(settings.MEDIA_ROOT, "a", "0001.wav").write_bytes(CONTENT)
    question = interview.template.questions.first()
    assert question is not None
    Turn.objects.create(
        interview=interview, number=1, question=question, question_text="?", audio_path="a/0001.wav"
    )
    address = f"/interviews/{interview.public_id}/answers/1/audio/"
    response = client.get(address, headers={"Range": "bytes=0-9"})
    assert (response.status_code, response.getvalue()) == (206, CONTENT[:10])
    assert client.get(f"/interviews/{interview.public_id}/answers/2/audio/").status_code == 404
    assert Client().get(address).status_code == 404


def test_a_player_that_hangs_up_leaves_no_error_in_the_log(
    tmp_path: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    with django_db_blocker.unblock(), site_database(tmp_path) as rows:
        server = Server(tmp_path / "var", rows).start()
        try:
            person = Person()
            with_recording(person, server.folder / "media", size_bytes=30_000_000)
            address = f"/interviews/{person.interview.public_id}/answers/1/audio/"
            for start in range(40):
                seek_away(server.port, address, person.cookie, start * 500_000)
            status, body = whole(server.port, address, person.cookie, "bytes=-1000")
        finally:
            server.stop()
    assert (status, len(body)) == (206, 1000)
    assert " ERROR " not in server.log.read_text()


def with_recording(person: Person, media: Path, *, size_bytes: int) -> None:
    media.mkdir(parents=True, exist_ok=True)
    (media / "long.wav").write_bytes(bytes(size_bytes))
    question = person.interview.template.questions.first()
    assert question is not None
    Turn.objects.create(
        interview=person.interview, number=1, question=question, question_text="?", audio_path="long.wav"
    )


def seek_away(port: int, address: str, cookie: str, start: int) -> None:
    """Ask for the rest from `start`, read a little, hang up."""
    lines = (
        f"GET {address} HTTP/1.1",
        "Host: localhost",
        f"Cookie: {cookie}",
        f"Range: bytes={start}-",
        "",
        "",
    )
    with socket.create_connection(("127.0.0.1", port), timeout=5) as player:
        player.sendall("\r\n".join(lines).encode())
        assert player.recv(4096).startswith(b"HTTP/1.1 206")


def whole(port: int, address: str, cookie: str, wanted: str) -> tuple[int, bytes]:
    request = Request(f"http://127.0.0.1:{port}{address}", headers={"Cookie": cookie, "Range": wanted})
    with urlopen(request, timeout=5) as answer:
        return answer.status, answer.read()
