"""What a spool's file holds, read back after a crash: frames, and runs of seqs that the page lost for good.

A lost run is a record like a frame (frames.py), type 2, without samples: `seq` is its first seq, `flags` says
why, the payload is (to u64, missing_ms u32), `to` exclusive. Knows no writer.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from apps.live.close_codes import Refused
from apps.live.frames import HEADER, MAX_PCM_BYTES, VERSION, Frame, crc_of, decode_frame
from inference.audio import SAMPLE_RATE, MissingWhy

MAGIC = b"viva spool 1\n\0\0\0"
EPOCH_BYTES = 16
FILE_HEADER_BYTES = len(MAGIC) + EPOCH_BYTES
TYPE_LOST = 2
LOST = 0  # stands for the checksum of a seq within a lost run
WHYS: tuple[MissingWhy, ...] = ("full", "lost", "unreadable")

_RUN = struct.Struct(">QI")
_RECORD_BEGINS = re.compile(rb"\x01[\x01\x02]\x00")  # version, type, high byte of the flags


@dataclass(frozen=True, slots=True)
class LostRun:
    """Seqs `seq` to `to` (exclusive) of an answer. `at_sample`: how many samples come before the hole."""

    seq: int
    to: int
    missing_ms: int
    why: MissingWhy
    at_sample: int = 0

    @property
    def at_s(self) -> float:
        return round(self.at_sample / SAMPLE_RATE, 3)

    @property
    def seconds(self) -> float:
        return self.missing_ms / 1_000


@dataclass(slots=True)
class Scan:
    """Checksums by seq, end of the last good record, samples, and where some are missing."""

    crcs: array[int]
    end: int = FILE_HEADER_BYTES
    samples: int = 0
    lost: list[LostRun] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Found:
    """A good record. `frame` None: a lost run."""

    answer: int
    seq: int
    to: int
    nbytes: int
    frame: Frame | None
    lost: LostRun | None = None


def empty_scan() -> Scan:
    return Scan(array("I"))


def scanned(content: bytes, answer: int) -> Scan:
    """Walk over good records in order; stops at the first byte that is none."""
    scan = empty_scan()
    while True:
        found = _record_at(content, scan.end)
        if found is None or found.answer != answer or found.seq != len(scan.crcs):
            return scan
        _take(scan, found)


def encode_lost(run: LostRun, answer: int) -> bytes:
    payload = _RUN.pack(run.to, run.missing_ms)
    fields = (VERSION, TYPE_LOST, WHYS.index(run.why), answer, run.seq, 0, len(payload))
    crc = crc_of(HEADER.pack(*fields, 0) + payload)
    return HEADER.pack(*fields, crc) + payload


def record_behind(content: bytes, position: int, answer: int, seq: int) -> bool:
    """Whether a good, later record lies behind the damage."""
    return any(found.seq > seq for found in _good_records(content, position, answer))


def seqs_held(copy: Path) -> int:
    """How many seqs a damaged copy reaches; raises OSError."""
    answer = int(copy.name.partition(".")[0])
    return max((found.to for found in _good_records(copy.read_bytes(), 0, answer)), default=0)


def _take(scan: Scan, found: _Found) -> None:
    scan.end += found.nbytes
    if found.frame is not None:
        scan.crcs.append(found.frame.crc)
        scan.samples += found.frame.samples
    elif found.lost is not None:
        run = found.lost
        scan.crcs.extend([LOST] * (run.to - run.seq))
        scan.lost.append(LostRun(run.seq, run.to, run.missing_ms, run.why, scan.samples))


def _record_at(content: bytes, position: int) -> _Found | None:
    if position + HEADER.size > len(content):
        return None
    _, kind, _, _, _, _, nbytes, _ = HEADER.unpack_from(content, position)
    if nbytes > MAX_PCM_BYTES:
        return None
    raw = content[position : position + HEADER.size + nbytes]
    if kind == TYPE_LOST:
        return _lost_in(raw)
    try:
        frame = decode_frame(raw)
    except Refused:
        return None
    return _Found(frame.answer, frame.seq, frame.seq + 1, len(raw), frame)


def _lost_in(raw: bytes) -> _Found | None:
    version, _, why, answer, seq, _, nbytes, crc = HEADER.unpack_from(raw)
    whole = nbytes == _RUN.size == len(raw) - HEADER.size
    if version != VERSION or why >= len(WHYS) or not whole or crc != crc_of(raw):
        return None
    to, missing_ms = _RUN.unpack_from(raw, HEADER.size)
    return _Found(answer, seq, to, len(raw), None, LostRun(seq, to, missing_ms, WHYS[why]))


def _good_records(content: bytes, position: int, answer: int) -> Iterator[_Found]:
    """Every record that can still be read, whatever lies between."""
    while (begins := _RECORD_BEGINS.search(content, position)) is not None:
        found = _record_at(content, begins.start())
        if found is not None and found.answer == answer:
            yield found
        position = begins.start() + (1 if found is None else found.nbytes)
