"""Any audio file that FFmpeg reads, as the server hears it: 16 kHz mono PCM16. Knows no engine."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioUnreadable

MAX_AUDIO_S = 2 * 3600.0  # 230 MB of samples: a longer file is a mistake, not an answer
READABLE = "WAV, FLAC, MP3, Ogg, WebM and M4A do"
MAX_BYTES = round(MAX_AUDIO_S * SAMPLE_RATE) * BYTES_PER_SAMPLE


def read_audio(path: Path) -> bytes:
    """The whole file. Raises AudioUnreadable with one line that names the file and the reason."""
    import av  # noqa: PLC0415 - FFmpeg's libraries are only for those who read files

    if path.is_dir():
        raise AudioUnreadable(f"{path}: is a folder; name a recording in it")
    if not path.is_file():
        raise AudioUnreadable(f"{path}: no such file")
    try:
        with av.open(str(path)) as container:
            if not container.streams.audio:
                raise AudioUnreadable(f"{path}: holds no audio")
            pcm = _resampled(
                container, av.AudioResampler(format="s16", layout="mono", rate=SAMPLE_RATE), path
            )
    except (av.FFmpegError, OSError, ValueError) as exc:
        reason = (getattr(exc, "strerror", None) or str(exc)).split(":")[0].strip()
        raise AudioUnreadable(f"{path}: does not play as audio ({reason}); {READABLE}") from exc
    if not pcm:
        raise AudioUnreadable(f"{path}: holds no audio")
    return pcm


def _resampled(container: Any, resampler: Any, path: Path) -> bytes:
    pcm = bytearray()
    for frame in chain(container.decode(audio=0), [None]):  # None flushes the resampler
        for piece in resampler.resample(frame):
            pcm += piece.to_ndarray().tobytes()
        if len(pcm) > MAX_BYTES:
            raise AudioUnreadable(f"{path}: longer than {MAX_AUDIO_S / 3600:.0f} hours")
    return bytes(pcm)
