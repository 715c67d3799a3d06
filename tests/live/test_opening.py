"""A page that leaves while its spool is being opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from apps.interviews.services.seats import Seat
from apps.live.opening import spool_found
from apps.live.recorder import Place
from apps.live.spool import open_spool


async def test_a_page_that_left_meanwhile_locks_nobody_out(tmp_path: Path) -> None:
    place = Place(Seat(1, 1), tmp_path / "spool", tmp_path / "media", "folder")
    holder = await asyncio.to_thread(open_spool, place.spool_folder, 1)
    waiting = asyncio.create_task(spool_found(place, 1, holder.epoch))
    await asyncio.sleep(0.2)  # it waits for the holder's lock
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await asyncio.to_thread(holder.close)
    await asyncio.sleep(0.3)  # now the lock is the one's who left
    again = await asyncio.to_thread(open_spool, place.spool_folder, 1)
    assert again.epoch == holder.epoch
    again.close()
