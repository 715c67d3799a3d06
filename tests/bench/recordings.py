"""What the replay benchmark plays: spoken answers with known ends, and made ones of them. Seeded, no clock.

Made answers are spoken ones with longer pauses at clause ends, as people make them, or with noise.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from inference.assessment import QuestionSpec
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE
from tests.inference.spoken import RECORDED, SPOKEN, clip

MEDIAN_PAUSE_S, NINETEEN_OF_TWENTY_S, LONGEST_PAUSE_S = 0.6, 1.6, 2.5
NORMAL = NormalDist()
SNRS_DB = (20, 10, 5)
PAUSED_TAKES = 3  # of each answer, each with pauses of its own
CLAUSES = Path(__file__).with_name("clauses.json")
NOISE_PEAK = 0.9

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recording:
    """One answer. `pauses` (start_s, length_s) lie before its true end; `kind` says how it was made."""

    id: str
    kind: str
    language: Any
    question: str
    text: str
    terms: tuple[str, ...]
    pcm: bytes
    speech_end_s: float
    pauses: tuple[tuple[float, float], ...] = ()

    @property
    def spec(self) -> QuestionSpec:
        return QuestionSpec(self.question or "Tell me about yourself.", self.language, terms=self.terms)

    def then_silence(self, until_s: float) -> bytes:
        """The recording, and digital silence up to `until_s` after the last word."""
        return self.pcm.ljust(round((self.speech_end_s + until_s) * SAMPLE_RATE) * BYTES_PER_SAMPLE, b"\0")


def spoken() -> list[Recording]:
    """Every clip in which somebody speaks, as it is."""
    entries = json.loads((SPOKEN / "manifest.json").read_text())
    return [_recording(entry, SPOKEN) for entry in entries if entry["text"]]


def recorded() -> list[Recording]:
    """Real voices, where that folder is there: their words are known, their ends are not."""
    if not RECORDED.exists():
        return []
    return [_recording(entry, RECORDED) for entry in json.loads((RECORDED / "manifest.json").read_text())]


def made(clips: Sequence[Recording]) -> list[Recording]:
    """Of each clip: three with pauses, and with pauses and noise one at each level."""
    answers = []
    for one in clips:
        answers += [with_pauses(one, take) for take in range(PAUSED_TAKES)]
        noisy = enumerate(SNRS_DB, PAUSED_TAKES)
        answers += [with_noise(with_pauses(one, take), snr_db) for take, snr_db in noisy]
    return answers


def with_pauses(one: Recording, take: int) -> Recording:
    """Each clause end gets a pause of its own; one that was there already is only made longer."""
    clauses = json.loads(CLAUSES.read_text())
    lengths = _lengths(clauses, one.id, take)
    pieces, pauses, at_s, shift_s = [], [], 0.0, 0.0
    for clause_s, length_s in zip(clauses[one.id], lengths, strict=True):
        there = next((p for p in one.pauses if p[0] - 0.1 <= clause_s <= sum(p) + 0.1), (clause_s, 0.0))
        longer_s = max(0.0, length_s - there[1])
        pieces += [_cut(one.pcm, at_s, clause_s), _quiet(one, longer_s)]
        pauses.append((there[0] + shift_s, there[1] + longer_s))
        at_s, shift_s = clause_s, shift_s + longer_s
    pieces.append(_cut(one.pcm, at_s, None))
    kept = [(start_s, length_s) for start_s, length_s in pauses if length_s > 0.0]
    return replace(
        one,
        id=f"{one.id}/{take}",
        kind="pauses",
        pcm=b"".join(pieces),
        speech_end_s=one.speech_end_s + shift_s,
        pauses=tuple(kept),
    )


def pause_lengths(count: int) -> list[float]:
    """So many log-normal pauses, evenly over their distribution: half are longer than 0.6 s, one in twenty
    than 1.6 s, none than 2.5 s. Drawn by chance, the few long ones might be missed by luck."""
    spread = math.log(NINETEEN_OF_TWENTY_S / MEDIAN_PAUSE_S) / NORMAL.inv_cdf(0.95)
    whole = NORMAL.cdf(math.log(LONGEST_PAUSE_S / MEDIAN_PAUSE_S) / spread)
    shares = ((number + 0.5) / count for number in range(count))
    lengths = [MEDIAN_PAUSE_S * math.exp(spread * NORMAL.inv_cdf(whole * share)) for share in shares]
    random.Random("pauses").shuffle(lengths)  # noqa: S311 - to be repeated, not to be secret
    return lengths


def with_noise(one: Recording, snr_db: float) -> Recording:
    """Pink noise over all of it, so many dB below its voice."""
    voice = samples(one.pcm)
    noise = pink(voice.size, f"noise {one.id} {snr_db}")
    noise *= voice_rms(voice) / 10 ** (snr_db / 20)
    mixed = voice + noise
    return replace(
        one,
        id=f"{one.id}@{snr_db:g}dB",
        kind=f"{one.kind}, {snr_db:g} dB".removeprefix("spoken, "),
        pcm=pcm(mixed / max(1.0, float(np.abs(mixed).max()) / NOISE_PEAK)),
    )


def voice_rms(voice: Samples, frame_s: float = 0.03) -> float:
    """Root mean square of the frames in which there is voice: pauses do not make an answer quiet."""
    frame = round(frame_s * SAMPLE_RATE)
    loudness = np.sqrt(np.mean(voice[: voice.size // frame * frame].reshape(-1, frame) ** 2, axis=1))
    loud = loudness[loudness > 0.1 * np.percentile(loudness, 95)]
    return float(np.sqrt(np.mean(loud**2)))


def pink(count: int, seed: str) -> Samples:
    """Noise whose power falls by 3 dB an octave, of root mean square 1."""
    chance = np.random.default_rng(list(seed.encode()))
    spectrum = np.fft.rfft(chance.standard_normal(count))
    spectrum[1:] /= np.sqrt(np.arange(1, spectrum.size))
    spectrum[0] = 0.0
    noise = np.fft.irfft(spectrum, count)
    return np.asarray(noise / np.sqrt(np.mean(noise**2)), np.float32)


def no_speech(seconds: float = 30.0) -> dict[str, bytes]:
    """Sounds in which nobody says a word."""
    count = round(seconds * SAMPLE_RATE)
    fan = 0.05 * pink(count, "fan")
    return {
        "silence": bytes(count * BYTES_PER_SAMPLE),
        "fan": pcm(fan),
        "keyboard": _repeated(clip("keyboard").pcm, count),
        "music": pcm(music(seconds)),
    }


def music(seconds: float) -> Samples:
    """Four chords again and again, plucked, with overtones, and a beat."""
    t = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    chords = ((220.0, 261.6, 329.6), (174.6, 220.0, 261.6), (196.0, 246.9, 293.7), (164.8, 196.0, 246.9))
    within = t % 0.5
    total = np.zeros_like(t)
    for number, chord in enumerate(chords):
        playing = (t // 1.0).astype(int) % len(chords) == number
        tones = sum(np.sin(2 * np.pi * note * k * t) / k**1.5 for note in chord for k in range(1, 6))
        total += np.where(playing, tones * np.exp(-3.0 * within), 0.0)
    total += 0.5 * np.sin(2 * np.pi * 60.0 * t) * np.exp(-20.0 * within)
    return np.asarray(0.25 * total / np.abs(total).max(), np.float32)


def samples(raw: bytes) -> Samples:
    return np.frombuffer(raw, "<i2").astype(np.float32) / 32768.0


def pcm(mixed: Samples) -> bytes:
    return (np.clip(mixed, -1.0, 1.0) * 32767.0).astype("<i2").tobytes()


def _lengths(clauses: dict[str, list[float]], clip_id: str, take: int) -> list[float]:
    """Of all the pauses of all takes, those of one answer."""
    ids = list(clauses)
    before = sum(len(clauses[other]) for other in ids[: ids.index(clip_id)])
    each = sum(map(len, clauses.values()))
    first = take * each + before
    return pause_lengths(each * (PAUSED_TAKES + len(SNRS_DB)))[first : first + len(clauses[clip_id])]


def _recording(entry: dict[str, Any], folder: Path) -> Recording:
    one = clip(entry["id"], folder)
    inner = [
        (p["start_s"], p["length_s"])
        for p in entry.get("pauses", [])
        if p["start_s"] < one.speech_end_s - 0.01
    ]
    return Recording(
        id=one.id,
        kind="spoken",
        language=one.language,
        question=entry["question"],
        text=one.text,
        terms=one.terms,
        pcm=one.pcm,
        speech_end_s=one.speech_end_s,
        pauses=tuple(inner),
    )


def _cut(raw: bytes, start_s: float, end_s: float | None) -> bytes:
    first = round(start_s * SAMPLE_RATE) * BYTES_PER_SAMPLE
    return raw[first : None if end_s is None else round(end_s * SAMPLE_RATE) * BYTES_PER_SAMPLE]


def _quiet(one: Recording, seconds: float) -> bytes:
    """What is heard in this clip when nobody speaks: its own end, forwards and backwards."""
    background = samples(_cut(one.pcm, one.speech_end_s + 0.2, None))
    mirrored = np.concatenate([background, background[::-1]])
    count = round(seconds * SAMPLE_RATE)
    quiet = np.tile(mirrored, 1 + count // mirrored.size)[:count]
    return pcm(quiet)


def _repeated(raw: bytes, count: int) -> bytes:
    wanted = count * BYTES_PER_SAMPLE
    return (raw * (1 + wanted // len(raw)))[:wanted]
