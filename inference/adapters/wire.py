"""Messages between the recogniser and its worker process: a JSON header and raw audio, both length-prefixed.

No pickle: a worker's bytes can be wrong, never code.
"""

from __future__ import annotations

import json
import struct
from asyncio import StreamReader
from dataclasses import asdict
from typing import Any, BinaryIO

from inference.assessment import Word
from inference.ports import Speech, Transcript

Header = dict[str, Any]

_LENGTHS = struct.Struct("!II")
MAX_BYTES = 4 << 20  # 30 s of audio is under 1 MB


class WireError(Exception):
    """The other side ended, or said something that is no message."""


def pack(header: Header, body: bytes = b"") -> bytes:
    head = json.dumps(header, ensure_ascii=False).encode()
    return _LENGTHS.pack(len(head), len(body)) + head + body


def _lengths(raw: bytes) -> tuple[int, int]:
    head, body = _LENGTHS.unpack(raw)
    if head + body > MAX_BYTES:
        raise WireError("a message is too long")
    return head, body


def _header(raw: bytes) -> Header:
    header = json.loads(raw)
    if not isinstance(header, dict):
        raise WireError("a header is no object")
    return header


async def receive(reader: StreamReader) -> tuple[Header, bytes]:
    """The next message. Raises WireError, IncompleteReadError at the end of the stream."""
    head, body = _lengths(await reader.readexactly(_LENGTHS.size))
    return _header(await reader.readexactly(head)), await reader.readexactly(body)


def receive_blocking(pipe: BinaryIO) -> tuple[Header, bytes] | None:
    """The next message, None when the other side has ended."""
    raw = pipe.read(_LENGTHS.size)
    if len(raw) < _LENGTHS.size:
        return None
    head, body = _lengths(raw)
    parts = pipe.read(head), pipe.read(body)
    return (_header(parts[0]), parts[1]) if (len(parts[0]), len(parts[1])) == (head, body) else None


def speech_header(speech: Speech, chinese_full: bool) -> Header:
    return {
        "language": speech.language,
        "terms": speech.terms,
        "full_window": speech.full_window,
        "with_words": speech.with_words,
        "voiced_s": speech.voiced_s,
        "voice_end_s": speech.voice_end_s,
        "answer_within_s": speech.answer_within_s,
        "chinese_full": chinese_full,
    }


def speech_from(header: Header, pcm: bytes) -> tuple[Speech, bool]:
    speech = Speech(
        pcm=pcm,
        language=header["language"],
        terms=tuple(header["terms"]),
        full_window=header["full_window"],
        with_words=header["with_words"],
        voiced_s=header["voiced_s"],
        voice_end_s=header["voice_end_s"],
        answer_within_s=header["answer_within_s"],
    )
    return speech, header["chinese_full"]


def transcript_header(transcript: Transcript) -> Header:
    return {"transcript": asdict(transcript)}


def transcript_from(header: Header) -> Transcript:
    fields = dict(header["transcript"])
    fields["words"] = tuple(Word(**word) for word in fields["words"])
    return Transcript(**fields)
