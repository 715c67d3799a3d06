"""One audio frame on the wire: a 32-byte header, then PCM16LE mono, 16 kHz unless the page declared another
rate. Knows no sockets and no files.

Header, big-endian: version u8, type u8, flags u16, answer u32, seq u64, capture_us u64, nbytes u32, crc u32.
The CRC is zlib's, over the header with crc 0, then the payload. `seq` counts from 0 in each answer;
`capture_us` is the page's monotonic time of the first sample. A frame sent again is the same bytes.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

from apps.live.close_codes import CloseCode, Refused
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE

HEADER = struct.Struct(">BBHIQQII")
VERSION = 1
TYPE_AUDIO = 1
LAST = 1  # flag: the answer's last frame; only this one may be shorter than 20 ms
DISCONTINUITY = 2  # flag: the page lost audio right before this frame
KNOWN_FLAGS = LAST | DISCONTINUITY

MAX_MESSAGE_BYTES = 65_536
RATES = (8_000, SAMPLE_RATE, 44_100, 48_000)  # that a page may declare
MIN_MS, MAX_MS = 20, 500
MIN_PCM_BYTES = SAMPLE_RATE * BYTES_PER_SAMPLE * MIN_MS // 1_000  # of a frame that is kept
MAX_PCM_BYTES = SAMPLE_RATE * BYTES_PER_SAMPLE * MAX_MS // 1_000
FRAME_MS = 100
_CRC_AT = HEADER.size - 4
_NO_CRC = b"\0\0\0\0"
# For more zlib lets go of the interpreter's lock and waits for it again: beside a busy thread a frame took
# 180 µs, and takes 12.
_CRC_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Frame:
    """`raw` is the frame as received, header included."""

    answer: int
    seq: int
    capture_us: int
    flags: int
    crc: int
    raw: bytes

    @property
    def pcm(self) -> bytes:
        return self.raw[HEADER.size :]

    @property
    def samples(self) -> int:
        return (len(self.raw) - HEADER.size) // BYTES_PER_SAMPLE

    @property
    def duration_s(self) -> float:
        return self.samples / SAMPLE_RATE


def encode_frame(pcm: bytes, *, answer: int, seq: int, capture_us: int, flags: int = 0) -> bytes:
    header = HEADER.pack(VERSION, TYPE_AUDIO, flags, answer, seq, capture_us, len(pcm), 0)
    crc = zlib.crc32(pcm, zlib.crc32(header))
    return header[:_CRC_AT] + crc.to_bytes(4) + pcm


def crc_of(raw: bytes) -> int:
    """The checksum that the header of `raw` should carry."""
    view = memoryview(raw)
    crc = zlib.crc32(_NO_CRC, zlib.crc32(view[:_CRC_AT]))
    for at in range(HEADER.size, len(raw), _CRC_AT_ONCE):
        crc = zlib.crc32(view[at : at + _CRC_AT_ONCE], crc)
    return crc


def decode_frame(raw: bytes, rate: int = SAMPLE_RATE) -> Frame:
    """Check everything a frame promises. Raises Refused: 4413 when over-long, else 4400."""
    if len(raw) > MAX_MESSAGE_BYTES:
        raise Refused(CloseCode.TOO_LONG, f"message of {len(raw)} bytes")
    if len(raw) < HEADER.size:
        raise Refused(CloseCode.BAD_FRAME, f"{len(raw)} bytes are no frame")
    version, kind, flags, answer, seq, capture_us, nbytes, crc = HEADER.unpack_from(raw)
    problem = _header_problem(version, kind, flags, answer) or _payload_problem(
        nbytes, len(raw) - HEADER.size, flags, rate
    )
    if problem:
        raise Refused(CloseCode.BAD_FRAME, problem)
    if crc != crc_of(raw):
        raise Refused(CloseCode.BAD_FRAME, "checksum differs")
    return Frame(answer, seq, capture_us, flags, crc, raw)


def _header_problem(version: int, kind: int, flags: int, answer: int) -> str:
    if version != VERSION:
        return f"version {version}"
    if kind != TYPE_AUDIO:
        return f"type {kind}"
    if flags & ~KNOWN_FLAGS:
        return f"flags {flags}"
    return "" if answer else "answer 0"


def _payload_problem(nbytes: int, received: int, flags: int, rate: int) -> str:
    if nbytes != received:
        return f"{nbytes} bytes announced, {received} received"
    if nbytes % BYTES_PER_SAMPLE:
        return f"odd byte count {nbytes}"
    bytes_per_s = rate * BYTES_PER_SAMPLE
    if nbytes * 1_000 > MAX_MS * bytes_per_s:
        return f"{nbytes} bytes are more than {MAX_MS} ms"
    if nbytes == 0 or (nbytes * 1_000 < MIN_MS * bytes_per_s and not flags & LAST):
        return f"{nbytes} bytes are less than {MIN_MS} ms"
    return ""
