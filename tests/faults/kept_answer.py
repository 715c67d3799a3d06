"""One answer as a page keeps it: every frame it ever recorded, what was acknowledged, what got lost.

Frames stay here also after `committed`, so that the lab can compare them with what the server holds.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any

from apps.live.frames import HEADER, encode_frame

FRAME_MS = int(os.environ.get("LAB_FRAME_MS", "100"))  # a page may send 20 to 500
FRAME_SAMPLES = 16 * FRAME_MS
LOUD = 2_000  # the scripted detector hears samples of 1,000 and more
QUIET = 900
NOT_MINE = b""  # the place of a frame that another page recorded


@dataclass(slots=True)
class KeptAnswer:
    """`acked` is the highest seq the server promised; `sent` the next to send on this connection."""

    number: int
    frames: list[bytes] = field(default_factory=list)
    gaps: list[dict[str, Any]] = field(default_factory=list)  # {from, to, why}, to exclusive
    acked: int = -1
    sent: int = 0
    over: bool = False
    end_said: bool = False
    committed: str = ""
    epoch: str | None = None

    def record(self, count: int, *, loud: bool, seed: int) -> None:
        for seq in range(len(self.frames), len(self.frames) + count):
            pcm = pcm_of(seq, seed=seed + self.number, loud=loud)
            raw = encode_frame(pcm, answer=self.number, seq=seq, capture_us=seq * FRAME_MS * 1_000)
            self.frames.append(raw)

    def lose(self, first: int, end: int, why: str) -> None:
        self.gaps.append({"from": first, "to": end, "why": why})

    def gap_at(self, seq: int) -> dict[str, Any] | None:
        """The hole that `seq` lies in, from `seq` on."""
        hole = next((gap for gap in self.gaps if gap["from"] <= seq < gap["to"]), None)
        return None if hole is None else {**hole, "from": seq}

    def holds(self, seq: int) -> bool:
        return not any(gap["from"] <= seq < gap["to"] for gap in self.gaps)

    @property
    def owed(self) -> bool:
        """Recorded and not yet kept for good."""
        return any(self.frames) and not self.committed

    def pcm(self) -> bytes:
        """What the server's recording must be, byte for byte."""
        return b"".join(raw[HEADER.size :] for seq, raw in enumerate(self.frames) if self.holds(seq))

    def sha256(self) -> str:
        """Empty when the page does not have every byte: lost frames, or another page's."""
        whole = not self.gaps and all(self.frames)
        return hashlib.sha256(self.pcm()).hexdigest() if whole else ""

    def welcomed(self, epoch: str, following: int) -> list[str]:
        """Another epoch is another spool: nothing promised for the old one counts. Returns complaints."""
        complaints = []
        if not self.frames:
            self.frames = [NOT_MINE] * following  # another page of this interview recorded them
        if self.epoch is not None and epoch != self.epoch:
            if following:
                complaints.append(f"answer {self.number}: new epoch, but next is {following}")
            self.acked = -1
        elif following <= self.acked:
            complaints.append(f"answer {self.number}: acked to {self.acked}, then welcomed at {following}")
        if following > len(self.frames):
            complaints.append(f"answer {self.number}: welcomed at {following} of {len(self.frames)}")
        self.epoch = epoch
        self.acked = max(self.acked, following - 1)
        return complaints

    def acknowledged(self, upto: int) -> list[str]:
        if upto >= len(self.frames):
            return [f"answer {self.number}: {upto} acknowledged of {len(self.frames)} recorded"]
        self.acked = max(self.acked, upto)
        return []

    def forget_promises_beyond(self, frames: int) -> None:
        """Somebody who is not the site broke them, such as an operator with an old backup."""
        self.acked = min(self.acked, frames - 1)

    def commit(self, sha256: str) -> list[str]:
        before, self.committed = self.committed, sha256 or "nothing recorded"
        if sha256 and self.end_said:
            self.acked = len(self.frames) - 1  # a promise for all that was handed in
        if before and before != self.committed:
            return [f"answer {self.number}: committed twice, differently"]
        whole = self.over and self.acked == len(self.frames) - 1 and self.sha256()
        if whole and sha256 not in {whole, ""}:
            return [f"answer {self.number}: committed with another checksum"]
        return []


def pcm_of(seq: int, *, seed: int = 0, loud: bool = True) -> bytes:
    """100 ms that no other seq or seed has. Loud is speech to the scripted detector."""
    level = LOUD + (seq * 7 + seed * 331) % 30_000 if loud else seq % QUIET
    mark = (seed << 32 | seq).to_bytes(8, "big")
    return level.to_bytes(2, "little") * (FRAME_SAMPLES - len(mark)) + b"".join(
        bytes((one, 0)) for one in mark
    )
