"""Sound of another rate becomes 16 kHz without a seam, whatever pieces it comes in."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

from inference.bootstrap import resampler

RATES = (8_000, 44_100, 48_000)


def tone(rate: int, hz: float, seconds: float = 1.0) -> bytes:
    samples = 9_000 * np.sin(2 * pi * hz * np.arange(round(rate * seconds)) / rate)
    pcm: bytes = np.rint(samples).astype("<i2").tobytes()
    return pcm


def in_pieces(pcm: bytes, rate: int, sizes: tuple[int, ...]) -> list[bytes]:
    """Resampled in pieces of these many samples, over and over."""
    stream, at = resampler(rate), 0
    out: list[bytes] = []
    while at < len(pcm):
        size = 2 * sizes[len(out) % len(sizes)]
        piece, stream = stream.after(pcm[at : at + size])
        out.append(piece)
        at += size
    return out


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("hz", [220, 1_000, 3_000])
def test_a_tone_keeps_its_height_and_strength(rate: int, hz: int) -> None:
    out = np.frombuffer(b"".join(in_pieces(tone(rate, hz), rate, (rate // 10,))), "<i2").astype(float)
    spectrum = np.abs(np.fft.rfft(out[2_000:14_000]))
    assert abs(int(spectrum.argmax()) * 16_000 / 12_000 - hz) < 2
    assert np.sqrt(np.mean(out[2_000:14_000] ** 2)) == pytest.approx(9_000 / np.sqrt(2), rel=0.01)


@pytest.mark.parametrize(("rate", "hz"), [(44_100, 9_500), (48_000, 9_500), (48_000, 15_000)])
def test_nothing_above_eight_kilohertz_folds_back(rate: int, hz: int) -> None:
    out = np.frombuffer(b"".join(in_pieces(tone(rate, hz), rate, (rate // 10,))), "<i2").astype(float)
    assert np.abs(out[200:]).max() < 30


@pytest.mark.parametrize("rate", RATES)
def test_the_pieces_change_no_sample_and_each_keeps_its_length(rate: int) -> None:
    pcm = tone(rate, 440)
    (whole,) = in_pieces(pcm, rate, (rate,))
    tenths = in_pieces(pcm, rate, (rate // 10,))
    assert [len(piece) for piece in tenths] == [3_200] * 10
    assert b"".join(tenths) == whole
    assert b"".join(in_pieces(pcm, rate, (rate // 50, 1_013, 1_777))) == whole


@pytest.mark.parametrize("rate", RATES)
def test_the_last_piece_has_its_end_come_out(rate: int) -> None:
    """A click in the very last sample is not left behind in the filter."""
    click = bytes(rate // 5) + b"\x00\x60"
    kept, _ = resampler(rate).after(click)
    flushed, _ = resampler(rate).after(click, last=True)
    assert np.abs(np.frombuffer(kept, "<i2")).max() < 2_000
    assert np.abs(np.frombuffer(flushed, "<i2")).max() > 5_000
