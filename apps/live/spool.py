"""The recording of one answer while it lasts: an append-only file of frames as they came.

File: 16 bytes magic, 16 bytes epoch, then records (spool_scan.py) of seq 0, 1, 2, … One counts as kept once
`flush` has synced it; `append` may run beside `flush` in another thread. Knows no sockets, sessions or rows.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import secrets
import time
import wave
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from apps.live.frames import HEADER, Frame
from apps.live.spool_scan import (
    EPOCH_BYTES,
    FILE_HEADER_BYTES,
    LOST,
    MAGIC,
    TYPE_LOST,
    LostRun,
    Scan,
    empty_scan,
    encode_lost,
    record_behind,
    scanned,
    seqs_held,
)
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, MissingWhy

logger = logging.getLogger(__name__)

MAX_UNSYNCED_FRAMES = 100
LOCK_WAIT_S = 3.0

Verdict = Literal["stored", "duplicate", "conflict", "ahead", "full"]


class SpoolBusyError(Exception):
    """Another process still writes this spool."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A finished WAV. `sha256` is over the PCM payload bytes in order, not over the file."""

    sha256: str
    duration_s: float
    frames: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A record to be written, and how many seqs it stands for."""

    raw: bytes
    seqs: int = 1


class Spool:
    """One answer's frames. Made by `open_spool`."""

    def __init__(self, path: Path, fd: int, answer: int, epoch: str, scan: Scan) -> None:
        self.path, self.answer, self.epoch = path, answer, epoch
        self._fd = fd
        self._lock = Lock()  # guards what append and flush share; never held during a system call
        self._disk = Lock()  # one writer of the file at a time
        self._crcs = scan.crcs  # by seq, kept or waiting; LOST for one that will never come
        self._lost = scan.lost
        self._lost_seqs = sum(run.to - run.seq for run in scan.lost)
        self._waiting: list[_Waiting] = []
        self._kept = len(scan.crcs)
        self._kept_bytes = scan.end
        self._samples = scan.samples
        self._closed = False

    @property
    def next(self) -> int:
        """The seq that `append` takes next."""
        return len(self._crcs)

    @property
    def kept(self) -> int:
        """Seqs that survive a crash: 0 … kept - 1."""
        return self._kept

    @property
    def waiting(self) -> int:
        """Records in memory that no disk holds yet."""
        return len(self._waiting)

    @property
    def samples(self) -> int:
        """Samples of all accepted frames."""
        return self._samples

    @property
    def lost(self) -> tuple[LostRun, ...]:
        """Where audio is missing for good, in order."""
        return tuple(self._lost)

    @property
    def lost_seqs(self) -> int:
        """How many seqs those runs stand for."""
        return self._lost_seqs

    def append(self, frame: Frame) -> Verdict:
        """Take a frame into memory, to be kept by the next `flush`. Touches no file."""
        with self._lock:
            if frame.seq < len(self._crcs):
                return "duplicate" if self._crcs[frame.seq] in {frame.crc, LOST} else "conflict"
            if (refused := self._refusal(frame.seq)) is not None:
                return refused
            self._crcs.append(frame.crc)
            self._waiting.append(_Waiting(frame.raw))
            self._samples += frame.samples
        return "stored"

    def gap(self, first: int, to: int, frame_ms: int, why: MissingWhy) -> Verdict:
        """Take note that seqs `first` to `to` (exclusive) will never come; what came of them stays."""
        with self._lock:
            begin = len(self._crcs)
            if to <= begin:
                return "duplicate"
            if (refused := self._refusal(first)) is not None:
                return refused
            run = LostRun(begin, to, (to - begin) * frame_ms, why, self._samples)
            self._crcs.extend([LOST] * (to - begin))
            self._lost.append(run)
            self._lost_seqs += to - begin
            self._waiting.append(_Waiting(encode_lost(run, self.answer), to - begin))
        return "stored"

    def _refusal(self, seq: int) -> Verdict | None:
        if seq > len(self._crcs):
            return "ahead"
        return "full" if len(self._waiting) >= MAX_UNSYNCED_FRAMES or self._closed else None

    def flush(self) -> None:
        """Write and sync what waits. Raises OSError; frames that are not on disk wait for the next call."""
        with self._disk:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            batch = [] if self._closed else list(self._waiting)
        if not batch:
            return
        try:
            self._write(b"".join(record.raw for record in batch))
        except OSError:
            # A frame in half would look like a corrupt middle later: cut back to a whole one.
            os.ftruncate(self._fd, self._kept_bytes)
            raise
        with self._lock:
            del self._waiting[: len(batch)]
            self._kept += sum(record.seqs for record in batch)
            self._kept_bytes += sum(len(record.raw) for record in batch)

    def _write(self, content: bytes) -> None:
        written = 0
        while written < len(content):
            written += os.pwrite(self._fd, content[written:], self._kept_bytes + written)
        os.fdatasync(self._fd)  # with the file's new length, but without its times

    def payloads(self, from_sample: int = 0) -> Iterator[bytes]:
        """PCM of each kept frame, in order, read from disk; the first one cut to begin at `from_sample`."""
        position, passed = FILE_HEADER_BYTES, 0
        end = self._kept_bytes
        with self.path.open("rb") as file:
            file.seek(position)
            while position < end:
                header = HEADER.unpack(file.read(HEADER.size))
                pcm = file.read(header[6])
                position += HEADER.size + len(pcm)
                if header[1] == TYPE_LOST:
                    continue
                skipped = max(0, from_sample - passed)
                passed += len(pcm) // BYTES_PER_SAMPLE
                if passed > from_sample:
                    yield pcm[skipped * BYTES_PER_SAMPLE :]

    def to_wav(self, target: Path) -> Recording:
        """Write a finite, seekable WAV: whole or not at all, also when the machine dies meanwhile."""
        self.flush()
        self.path.stat()  # raises where the interview was erased: no folder is made for it again
        target.parent.mkdir(parents=True, exist_ok=True)
        half = target.with_suffix(".part")
        try:
            sha256 = self._wav_to(half)
        except BaseException:
            half.unlink(missing_ok=True)
            raise
        half.replace(target)
        _sync_folder(target.parent)
        return Recording(sha256, self._samples / SAMPLE_RATE, self._kept)

    def _wav_to(self, path: Path) -> str:
        digest = hashlib.sha256()
        with path.open("wb") as file:
            with wave.open(file, "wb") as wav:
                wav.setnchannels(1)
                wav.setsampwidth(BYTES_PER_SAMPLE)
                wav.setframerate(SAMPLE_RATE)
                wav.setnframes(self._samples)
                for pcm in self.payloads():
                    digest.update(pcm)
                    wav.writeframesraw(pcm)
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()

    def close(self) -> None:
        """Keep what waits, as far as the disk takes it, and let go of the file."""
        with self._disk:
            try:
                self._flush()
            except OSError as exc:
                logger.warning("spool closed with %d frames unkept: %s", self.waiting, exc.strerror)
            with self._lock:
                if self._closed:
                    return
                self._closed = True
            os.close(self._fd)

    def remove(self) -> None:
        """Forget the recording; only after it was committed elsewhere."""
        self.close()
        self.path.unlink(missing_ok=True)
        _forget_damaged(self.path, self.next)
        with suppress(OSError):  # the folder goes with its last file
            self.path.parent.rmdir()


def open_spool(folder: Path, answer: int) -> Spool:
    """Open or make the spool of an answer in its interview's folder. Blocks; raises OSError, SpoolBusyError.

    A torn tail (the write that a crash cut short) is truncated. Damage with good frames behind it puts the
    file aside and starts one with a new epoch: the page uploads the answer again and nothing is joined.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{answer:04d}.spool"
    fd = _locked(path)
    try:
        return _opened(path, fd, answer)
    except BaseException:
        os.close(fd)
        raise


def _opened(path: Path, fd: int, answer: int) -> Spool:
    content = _read_all(fd)
    if len(content) < FILE_HEADER_BYTES:  # new, or died before its header was synced
        return _begun(path, fd, answer)
    if not content.startswith(MAGIC):
        return _begun_anew(path, fd, answer, "no spool header")
    scan = scanned(content, answer)
    if scan.end < len(content):
        if record_behind(content, scan.end + 1, answer, len(scan.crcs)):
            return _begun_anew(path, fd, answer, f"damaged after {len(scan.crcs)} frames")
        logger.warning("spool tail of %d bytes cut off: an unfinished write", len(content) - scan.end)
        os.ftruncate(fd, scan.end)
        os.fsync(fd)
    epoch = content[len(MAGIC) : FILE_HEADER_BYTES].hex()
    return Spool(path, fd, answer, epoch, scan)


def _begun(path: Path, fd: int, answer: int) -> Spool:
    epoch = secrets.token_bytes(EPOCH_BYTES)
    os.ftruncate(fd, 0)
    os.pwrite(fd, MAGIC + epoch, 0)
    os.fsync(fd)
    _sync_folder(path.parent)
    return Spool(path, fd, answer, epoch.hex(), empty_scan())


def _begun_anew(path: Path, fd: int, answer: int, why: str) -> Spool:
    aside = path.with_suffix(f".{secrets.token_hex(4)}.damaged")
    path.replace(aside)
    logger.error("spool put aside as %s: %s", aside.name, why)
    fresh = _locked(path)
    try:
        spool = _begun(path, fresh, answer)
    except BaseException:
        os.close(fresh)
        raise
    os.close(fd)
    return spool


def _locked(path: Path) -> int:
    """Open for writing, alone: the socket before this one may still be letting go, perhaps elsewhere."""
    give_up_at = time.monotonic() + LOCK_WAIT_S
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            if time.monotonic() > give_up_at:
                raise SpoolBusyError(path.name) from None
            time.sleep(0.05)
            continue
        if path.exists() and os.path.samestat(path.stat(), os.fstat(fd)):
            return fd
        os.close(fd)  # removed or put aside by the holder before us: lock the new file instead


def _read_all(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0) if size else b""


def _forget_damaged(path: Path, frames: int) -> None:
    """Copies put aside go with their answer; one stays if it may hold more than the `frames` committed."""
    try:
        held = sorted((seqs_held(copy), copy) for copy in path.parent.glob(f"{path.stem}.*.damaged"))
        fuller = [copy for count, copy in held if count > frames]
        for _, copy in held:
            if copy not in fuller[-1:]:
                copy.unlink(missing_ok=True)
    except OSError as exc:
        logger.warning("damaged copies of %s stay: %s", path.name, exc.strerror)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
