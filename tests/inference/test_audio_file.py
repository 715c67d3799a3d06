"""Any audio file as 16 kHz mono PCM16, and one clear error for what is none."""

from __future__ import annotations

import wave
from array import array
from math import pi, sin
from pathlib import Path

import pytest

from inference.audio import duration_s
from inference.bootstrap import AudioUnreadable, read_audio
from tests.inference.spoken import RECORDED, SPOKEN


def write_tone(path: Path, rate: int, channels: int) -> None:
    with wave.open(str(path), "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        tone = array("h", (int(9000 * sin(2 * pi * 440 * n / rate)) for n in range(rate)))
        out.writeframes(array("h", (value for value in tone for _ in range(channels))).tobytes())


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (16_000, 1), (44_100, 2), (48_000, 1)])
def test_any_rate_and_channels_become_16_khz_mono(tmp_path: Path, rate: int, channels: int) -> None:
    write_tone(tmp_path / "tone.wav", rate, channels)
    pcm = read_audio(tmp_path / "tone.wav")
    assert abs(duration_s(pcm) - 1.0) < 0.01
    crossings = [a < 0 <= b for a, b in zip(array("h", pcm), array("h", pcm)[1:], strict=False)]
    assert abs(sum(crossings) - 440) <= 3


def test_a_16_khz_mono_file_is_taken_as_it_is() -> None:
    with wave.open(str(SPOKEN / "short_no.wav")) as audio:
        assert read_audio(SPOKEN / "short_no.wav") == audio.readframes(audio.getnframes())


@pytest.mark.skipif(not RECORDED.is_dir(), reason="recorded clips are not here")
def test_flac_is_read() -> None:
    assert abs(duration_s(read_audio(RECORDED / "jfk.flac")) - 11.0) < 0.1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AudioUnreadable, match=r"gone\.wav: no such file"):
        read_audio(tmp_path / "gone.wav")


def test_a_folder_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(AudioUnreadable, match=r": is a folder; name a recording in it$"):
        read_audio(tmp_path)


@pytest.mark.parametrize("content", [b"", b"RIFF", b"not audio at all" * 99, b"\x00" * 5000])
def test_a_corrupt_file_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.wav").write_bytes(content)
    with pytest.raises(AudioUnreadable) as caught:
        read_audio(tmp_path / "bad.wav")
    assert str(caught.value).count("bad.wav") == 1
    assert "WAV, FLAC, MP3" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_recording_gives_what_is_there(tmp_path: Path) -> None:
    whole = (SPOKEN / "short_no.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(whole[: len(whole) // 2])
    assert 0.5 < duration_s(read_audio(tmp_path / "cut.wav")) < 2.0
