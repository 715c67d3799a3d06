"""Frames of a page that declared another rate than 16 kHz, on their way into the spool, which knows no other.

Knows no sockets and no sessions.
"""

from __future__ import annotations

from apps.live.frames import LAST, MAX_PCM_BYTES, Frame, decode_frame, encode_frame
from apps.live.spool import Spool, Verdict
from inference.bootstrap import resampler


class DeclaredRate:
    """One answer's, while one socket lasts. A frame keeps its seq and its length in time."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._resampler = resampler(rate)
        self._came: dict[int, int] = {}  # checksums of stored frames as they came, by seq

    def append(self, frame: Frame, spool: Spool) -> tuple[Verdict, Frame]:
        """Have the frame kept at 16 kHz: what the spool says of it, and the frame as it is there."""
        if frame.seq < spool.next:
            # What came over an earlier socket is known at 16 kHz only, and no checksum of it as it came.
            same = self._came.get(frame.seq, frame.crc) == frame.crc
            return "duplicate" if same else "conflict", frame
        if frame.seq > spool.next:
            return "ahead", frame
        pcm, after = self._resampler.after(frame.pcm, last=bool(frame.flags & LAST))
        kept = _at_16_khz(frame, pcm[:MAX_PCM_BYTES])
        verdict = spool.append(kept)
        if verdict == "stored":  # else it comes again, and is heard as if for the first time
            self._resampler = after
            self._came[frame.seq] = frame.crc
        return verdict, kept

    def interrupt(self) -> None:
        """What comes next does not follow what came."""
        self._resampler = resampler(self._rate)


def _at_16_khz(frame: Frame, pcm: bytes) -> Frame:
    raw = encode_frame(
        pcm, answer=frame.answer, seq=frame.seq, capture_us=frame.capture_us, flags=frame.flags
    )
    return decode_frame(raw)
