from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import wave
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.live.frames import decode_frame, encode_frame
from apps.live.spool import MAX_UNSYNCED_FRAMES, Spool, SpoolBusyError, open_spool
from apps.live.spool_scan import FILE_HEADER_BYTES
from tests.live.wire import frames, numbered_pcm

FRAME_BYTES = 32 + 3_200


def kept(tmp_path: Path, count: int) -> tuple[Path, str]:
    spool = open_spool(tmp_path, 1)
    for frame in frames(numbered_pcm(count)):
        assert spool.append(frame) == "stored"
    spool.flush()
    spool.close()
    return spool.path, spool.epoch


def pcm_of(spool: Spool) -> bytes:
    return b"".join(spool.payloads())


def test_what_was_flushed_is_there_after_reopening(tmp_path: Path) -> None:
    _, epoch = kept(tmp_path, 7)
    spool = open_spool(tmp_path, 1)
    assert (spool.next, spool.kept, spool.epoch, spool.samples) == (7, 7, epoch, 7 * 1600)
    assert pcm_of(spool) == numbered_pcm(7)
    spool.close()


def test_a_frame_is_not_kept_before_it_is_synced(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    spool.append(frames(numbered_pcm(1))[0])
    assert (spool.next, spool.kept, spool.waiting) == (1, 0, 1)
    spool.flush()
    assert (spool.next, spool.kept, spool.waiting) == (1, 1, 0)
    spool.close()


def test_duplicates_are_stored_once_and_conflicts_never(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    first, second = frames(numbered_pcm(2))
    other = decode_frame(encode_frame(b"\7\0" * 1600, answer=1, seq=0, capture_us=0))
    assert [spool.append(f) for f in (first, first, other, second)] == [
        "stored",
        "duplicate",
        "conflict",
        "stored",
    ]
    spool.flush()
    assert spool.append(first) == "duplicate"
    assert pcm_of(spool) == numbered_pcm(2)
    spool.close()


def test_a_duplicate_is_known_after_reopening(tmp_path: Path) -> None:
    kept(tmp_path, 3)
    spool = open_spool(tmp_path, 1)
    assert spool.append(frames(numbered_pcm(3))[2]) == "duplicate"
    assert spool.append(frames(numbered_pcm(4))[3]) == "stored"
    spool.close()


def test_a_frame_after_a_hole_is_not_stored(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    one, two, three = frames(numbered_pcm(3))
    assert [spool.append(f) for f in (one, three)] == ["stored", "ahead"]
    assert [spool.append(f) for f in (two, three)] == ["stored", "stored"]
    spool.flush()
    assert pcm_of(spool) == numbered_pcm(3)
    spool.close()


def test_memory_is_bounded_while_the_disk_is_slow(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    verdicts = [spool.append(f) for f in frames(numbered_pcm(MAX_UNSYNCED_FRAMES + 1))]
    assert verdicts == ["stored"] * MAX_UNSYNCED_FRAMES + ["full"]
    spool.flush()
    assert spool.append(frames(numbered_pcm(MAX_UNSYNCED_FRAMES + 1))[-1]) == "stored"
    spool.close()


@pytest.mark.parametrize("cut_bytes", [1, 31, 32, 33, 1376, 3_231])
def test_a_torn_tail_is_cut_to_the_last_whole_frame(tmp_path: Path, cut_bytes: int) -> None:
    path, epoch = kept(tmp_path, 5)
    os.truncate(path, path.stat().st_size - cut_bytes)
    spool = open_spool(tmp_path, 1)
    assert (spool.next, spool.epoch) == (4, epoch)
    assert path.stat().st_size == FILE_HEADER_BYTES + 4 * FRAME_BYTES
    assert pcm_of(spool) == numbered_pcm(4)
    spool.close()


def test_a_tail_of_zeros_after_power_loss_is_cut(tmp_path: Path) -> None:
    path, epoch = kept(tmp_path, 3)
    with path.open("ab") as file:
        file.write(b"\0" * 9_000)
    spool = open_spool(tmp_path, 1)
    assert (spool.next, spool.epoch) == (3, epoch)
    spool.close()


@pytest.mark.parametrize("at", [0, 20, FRAME_BYTES + 700])
def test_a_damaged_middle_is_put_aside_and_the_epoch_changes(tmp_path: Path, at: int) -> None:
    path, epoch = kept(tmp_path, 4)
    content = bytearray(path.read_bytes())
    content[FILE_HEADER_BYTES + at] ^= 4
    path.write_bytes(content)
    spool = open_spool(tmp_path, 1)
    assert spool.next == 0
    assert spool.epoch != epoch
    [aside] = tmp_path.glob("*.damaged")
    assert aside.read_bytes() == bytes(content)
    spool.close()


def test_a_foreign_file_is_put_aside(tmp_path: Path) -> None:
    path, _ = kept(tmp_path, 1)
    path.write_bytes(b"#!/bin/sh\n" * 10)
    spool = open_spool(tmp_path, 1)
    assert spool.next == 0
    assert len(list(tmp_path.glob("*.damaged"))) == 1
    spool.close()


def damaged(tmp_path: Path, count: int) -> Spool:
    """A spool begun anew because its file of `count` frames was damaged in the first."""
    path, _ = kept(tmp_path, count)
    content = bytearray(path.read_bytes())
    content[FILE_HEADER_BYTES + 100] ^= 4
    path.write_bytes(content)
    return open_spool(tmp_path, 1)


def commit(spool: Spool, count: int) -> None:
    for frame in frames(numbered_pcm(count)):
        spool.append(frame)
    spool.flush()
    spool.remove()


def test_a_damaged_copy_goes_once_the_whole_answer_is_committed(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    commit(damaged(tmp_path / "one", 4), 4)
    assert not (tmp_path / "one").exists()


def test_of_damaged_copies_with_more_than_was_committed_only_the_fullest_stays(tmp_path: Path) -> None:
    (tmp_path / "0002.0badcafe.damaged").write_bytes(b"of another answer")
    damaged(tmp_path, 9).close()
    [fullest] = tmp_path.glob("0001.*.damaged")
    (tmp_path / "0001.spool").unlink()
    damaged(tmp_path, 6).close()
    (tmp_path / "0001.spool").unlink()
    commit(damaged(tmp_path, 3), 3)
    assert sorted(file.name for file in tmp_path.glob("0*")) == [fullest.name, "0002.0badcafe.damaged"]


def test_two_writers_never_share_a_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.live.spool.LOCK_WAIT_S", 0.1)
    spool = open_spool(tmp_path, 1)
    with pytest.raises(SpoolBusyError):
        open_spool(tmp_path, 1)
    spool.close()
    open_spool(tmp_path, 1).close()


def test_the_recording_is_a_finite_wav_with_the_hash_of_its_samples(tmp_path: Path) -> None:
    spool = open_spool(tmp_path, 1)
    for frame in frames(numbered_pcm(12)):
        spool.append(frame)
    recording = spool.to_wav(tmp_path / "media" / "a.wav")
    with wave.open(str(tmp_path / "media" / "a.wav")) as wav:
        assert (wav.getframerate(), wav.getnchannels(), wav.getsampwidth()) == (16_000, 1, 2)
        assert wav.readframes(wav.getnframes()) == numbered_pcm(12)
    assert recording.sha256 == hashlib.sha256(numbered_pcm(12)).hexdigest()
    assert (round(recording.duration_s, 3), recording.frames) == (1.2, 12)
    assert list((tmp_path / "media").iterdir()) == [tmp_path / "media" / "a.wav"]
    spool.remove()
    assert not spool.path.exists()


def test_a_recording_that_cannot_be_written_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_disk(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    spool = open_spool(tmp_path / "spool", 1)
    spool.append(frames(numbered_pcm(1))[0])
    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", broken_disk)
        with pytest.raises(OSError, match="Input/output"):
            spool.to_wav(tmp_path / "media" / "a.wav")
    assert list((tmp_path / "media").iterdir()) == []
    spool.path.unlink()  # erased meanwhile
    with pytest.raises(FileNotFoundError):
        spool.to_wav(tmp_path / "other" / "a.wav")
    assert not (tmp_path / "other").exists()
    spool.close()


def test_what_the_disk_failed_to_sync_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_disk(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    spool = open_spool(tmp_path, 1)
    spool.append(frames(numbered_pcm(1))[0])
    with monkeypatch.context() as broken:
        broken.setattr("os.fdatasync", broken_disk)
        with pytest.raises(OSError, match="Input/output"):
            spool.flush()
    assert (spool.kept, spool.path.stat().st_size) == (0, FILE_HEADER_BYTES)
    spool.flush()
    assert (spool.kept, pcm_of(spool)) == (1, numbered_pcm(1))
    spool.close()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(tiny_disk: Path) -> None:
    ballast = tiny_disk / "ballast"
    spool = open_spool(tiny_disk, 1)
    ballast.write_bytes(b"x" * 40_000)
    for frame in frames(numbered_pcm(30)):
        spool.append(frame)
    with pytest.raises(OSError, match="No space left") as full:
        spool.flush()
    assert full.value.errno == errno.ENOSPC
    assert spool.kept == 0
    assert spool.path.stat().st_size == FILE_HEADER_BYTES
    ballast.unlink()
    for frame in frames(numbered_pcm(12)):
        assert spool.append(frame) == "duplicate"
    spool._waiting = spool._waiting[:12]  # what fits: the disk is smaller than 30 frames
    spool._crcs = spool._crcs[:12]
    spool.flush()
    assert (spool.kept, pcm_of(spool)) == (12, numbered_pcm(12))
    spool.close()


WRITER = """
import os, sys
from pathlib import Path
from apps.live.spool import open_spool
from tests.live.wire import frames, numbered_pcm
spool = open_spool(Path(sys.argv[1]), 1)
for frame in frames(numbered_pcm(40))[: int(sys.argv[2])]:
    spool.append(frame)
spool.flush()
for frame in frames(numbered_pcm(40)):
    spool.append(frame)
print("acked", flush=True)
os.kill(os.getpid(), 9)
"""


def test_kill_9_between_write_and_ack_keeps_what_was_synced(tmp_path: Path) -> None:
    for _ in range(2):  # twice without progress: the second replay carries the same bytes
        writer = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path), "25"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (writer.returncode, writer.stdout) == (-signal.SIGKILL, "acked\n"), writer.stderr
    spool = open_spool(tmp_path, 1)
    assert spool.next == 25
    assert spool.append(frames(numbered_pcm(40))[24]) == "duplicate"
    assert pcm_of(spool) == numbered_pcm(25)
    spool.close()
