"""Synthetic PCM and frames for the tests of the live edge."""

from __future__ import annotations

from apps.live.frames import Frame, decode_frame, encode_frame
from inference.audio import SAMPLE_RATE


def silence(seconds: float) -> bytes:
    return b"\0\0" * round(seconds * SAMPLE_RATE)


def speech(seconds: float) -> bytes:
    return b"\xd0\x07" * round(seconds * SAMPLE_RATE)


def raw_frames(pcm: bytes, *, answer: int = 1, first_seq: int = 0, frame_ms: int = 100) -> list[bytes]:
    """Cut PCM into frames as the page does."""
    size = SAMPLE_RATE * 2 * frame_ms // 1000
    cuts = [pcm[at : at + size] for at in range(0, len(pcm), size)]
    return [
        encode_frame(cut, answer=answer, seq=seq, capture_us=seq * frame_ms * 1000)
        for seq, cut in enumerate(cuts, first_seq)
    ]


def frames(pcm: bytes, *, answer: int = 1, first_seq: int = 0) -> list[Frame]:
    return [decode_frame(raw) for raw in raw_frames(pcm, answer=answer, first_seq=first_seq)]


def numbered_pcm(count: int, first: int = 0) -> bytes:
    """`count` frames of 100 ms that all differ."""
    return b"".join((number % 30_000).to_bytes(2, "little") * 1600 for number in range(first, first + count))
