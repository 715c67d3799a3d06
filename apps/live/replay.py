"""What a fresh session is told of a recording that another one began to hear. Knows files, no sessions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Generator
from contextlib import closing

from apps.live.spool import Spool
from apps.live.spool_scan import LostRun
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk

CHUNK_BYTES = 2 * SAMPLE_RATE * BYTES_PER_SAMPLE  # 2 s a chunk: ten minutes fit the session's queue

Piece = AudioChunk | LostRun


async def replay(spool: Spool, from_sample: int) -> AsyncIterator[Piece]:
    """The kept audio from `from_sample` on, and the holes in it, in order; read beside the event loop."""
    with closing(_pieces(spool, from_sample)) as pieces:
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece


def _pieces(spool: Spool, from_sample: int) -> Generator[Piece]:
    lost = deque(run for run in spool.lost if run.at_sample >= from_sample)
    start, held = from_sample, bytearray()
    for pcm in spool.payloads(from_sample):
        reached = start + len(held) // BYTES_PER_SAMPLE
        if held and (len(held) >= CHUNK_BYTES or (lost and lost[0].at_sample <= reached)):
            yield AudioChunk(start, bytes(held))
            start, held = reached, bytearray()
        while lost and lost[0].at_sample <= start:
            yield lost.popleft()
        held += pcm
    if held:
        yield AudioChunk(start, bytes(held))
    yield from lost
