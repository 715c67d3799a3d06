"""Recordings over HTTP with Range (RFC 9110, 14): a player can seek without fetching the whole answer.

Knows files and headers; who may listen is the view's business.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

from apps.interviews.models import Interview

_BLOCK_BYTES = 64 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes [start, stop) of a file."""

    start: int
    stop: int


def media_folder(interview: Interview) -> str:
    """Where the interview's recordings lie below the media root."""
    return folder_of(interview.organisation.public_id, interview.candidate.public_id, interview.public_id)


def folder_of(organisation: UUID, candidate: UUID, interview: UUID) -> str:
    """The same, by public ids."""
    return "/".join(part.hex for part in (organisation, candidate, interview))


def answer_audio(request: HttpRequest, interview: Interview, number: int) -> HttpResponseBase:
    """The recording of one answer. Raises Http404 when there is none."""
    turn = interview.turns.filter(number=number).exclude(audio_path="").first()
    if turn is None:
        raise Http404("no recording")
    return ranged_file(request, Path(settings.MEDIA_ROOT) / turn.audio_path, etag=turn.sha256)


def byte_range(header: str, size_bytes: int) -> ByteRange | None:
    """The one range asked for; None where the header is absent, malformed or asks for several (then: all).

    Raises ValueError when the range lies outside the file.
    """
    match = _RANGE.match(header.strip())
    if match is None or match.group() == "bytes=-":
        return None
    first, last = match.groups()
    if not first:
        return _suffix(int(last), size_bytes)
    start = int(first)
    stop = min(int(last) + 1 if last else size_bytes, size_bytes)
    if last and int(last) < start:
        return None
    if start >= size_bytes:
        raise ValueError("the range starts after the end of the file")
    return ByteRange(start, stop)


def _suffix(length: int, size_bytes: int) -> ByteRange:
    if length == 0 or size_bytes == 0:
        raise ValueError("an empty suffix range")
    return ByteRange(max(0, size_bytes - length), size_bytes)


def ranged_file(
    request: HttpRequest, path: Path, *, content_type: str = "audio/wav", etag: str = ""
) -> HttpResponseBase:
    """`path`, whole (200), in part (206), or 416. Raises Http404 when it is not there."""
    try:
        size_bytes = path.stat().st_size
    except OSError as exc:
        raise Http404("no recording") from exc
    tag = f'"{etag or size_bytes}"'
    header = request.headers.get("Range", "")
    if request.headers.get("If-Range", tag) != tag:
        header = ""  # it changed since the first part was fetched: send all of the new one
    try:
        part = byte_range(header, size_bytes)
    except ValueError:
        response: HttpResponseBase = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{size_bytes}"
    else:
        response = _part(request, path, part or ByteRange(0, size_bytes), partial=part is not None)
        if part is not None:
            response["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size_bytes}"
        response["Content-Type"] = content_type
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = tag
    response["Cache-Control"] = "private, no-store"  # a recording must be gone when it is deleted
    return response


def _part(request: HttpRequest, path: Path, part: ByteRange, *, partial: bool) -> HttpResponseBase:
    status = 206 if partial else 200
    if request.method == "HEAD":
        response: HttpResponseBase = HttpResponse(status=status)
    elif isinstance(request, ASGIRequest):
        response = StreamingHttpResponse(_blocks_awaited(path, part), status=status)
    else:
        response = StreamingHttpResponse(_blocks(path, part), status=status)
    response["Content-Length"] = str(part.stop - part.start)
    return response


def _blocks(path: Path, part: ByteRange) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(part.start)
        left = part.stop - part.start
        while left > 0 and (block := file.read(min(_BLOCK_BYTES, left))):
            left -= len(block)
            yield block


async def _blocks_awaited(path: Path, part: ByteRange) -> AsyncIterator[bytes]:
    """The same for ASGI, where Django would read a plain iterator to its end before sending anything.

    A player that seeks hangs up while a thread still reads: closing waits for that one block.
    """
    with path.open("rb") as file:
        file.seek(part.start)
        left = part.stop - part.start
        while left > 0 and (block := await asyncio.to_thread(file.read, min(_BLOCK_BYTES, left))):
            left -= len(block)
            yield block
