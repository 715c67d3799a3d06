"""Spools are synced in rounds, side by side: one that hangs or fails holds up no other."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.live.spool import open_spool
from apps.live.spool_sync import SpoolSync, Watch
from tests.live.wire import frames, numbered_pcm


def test_the_sync_thread_tells_how_far_the_recording_is_safe(tmp_path: Path) -> None:
    told: list[int] = []
    done = threading.Event()

    def kept_so_far(count: int) -> None:
        told.append(count)
        if count == 20:
            done.set()

    sync = SpoolSync(round_s=0.02)
    spool = open_spool(tmp_path, 1)
    sync.add(spool, Watch(kept=kept_so_far, unkept=lambda failure: None))
    for frame in frames(numbered_pcm(20)):
        spool.append(frame)
        sync.wake()
    assert done.wait(60)
    sync.stop()
    spool.close()
    reopened = open_spool(tmp_path, 1)
    assert (told[-1], reopened.kept) == (20, 20)
    assert len(told) < 20  # a group commit, not a sync per frame
    reopened.close()


class Hanging:
    """A disk that takes nothing until it is let go."""

    def __init__(self, flush: Callable[[], None]) -> None:
        self.flush = flush
        self.hangs, self.let_go = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.flush()
        self.hangs.set()
        assert self.let_go.wait(60)


def told_when_kept(count: int) -> tuple[Watch, threading.Event]:
    done = threading.Event()

    def kept_so_far(seqs: int) -> None:
        if seqs == count:
            done.set()

    return Watch(kept=kept_so_far, unkept=lambda failure: None), done


def test_a_spool_that_hangs_holds_up_no_other_and_is_kept_once_its_disk_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = SpoolSync(round_s=0.01, round_within_s=0.05)
    stuck, well = open_spool(tmp_path / "stuck", 1), open_spool(tmp_path / "well", 1)
    hanging = Hanging(stuck.flush)
    monkeypatch.setattr(stuck, "flush", hanging)
    watch, stuck_done = told_when_kept(2)
    sync.add(stuck, watch)
    stuck.append(frames(numbered_pcm(1))[0])
    sync.wake()
    assert hanging.hangs.wait(60)
    stuck.append(frames(numbered_pcm(2))[1])
    for count, frame in enumerate(frames(numbered_pcm(12)), 1):  # more rounds than there are threads
        watch, well_done = told_when_kept(count)
        sync.add(well, watch)
        well.append(frame)
        sync.wake()
        assert well_done.wait(60)
    assert not stuck_done.is_set()
    hanging.let_go.set()
    assert stuck_done.wait(60)
    sync.stop()
    for spool in (stuck, well):
        spool.close()


def test_a_disk_that_refuses_one_spool_is_asked_again_and_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = SpoolSync(round_s=0.01)
    refused, well = open_spool(tmp_path / "refused", 1), open_spool(tmp_path / "well", 1)
    flush, attempts = refused.flush, iter((OSError(errno.ENOSPC, "No space left"), None))
    failures: list[OSError] = []

    def flush_at_last() -> None:
        if (failure := next(attempts)) is not None:
            raise failure
        flush()

    monkeypatch.setattr(refused, "flush", flush_at_last)
    watch, refused_done = told_when_kept(1)
    sync.add(refused, Watch(kept=watch.kept, unkept=failures.append))
    watch, well_done = told_when_kept(1)
    sync.add(well, watch)
    for spool in (refused, well):
        spool.append(frames(numbered_pcm(1))[0])
    sync.wake()
    assert well_done.wait(60)
    assert refused_done.wait(60)  # nobody had to wake it
    assert [failure.errno for failure in failures] == [errno.ENOSPC]
    sync.stop()
    for spool in (refused, well):
        spool.close()
