"""Recorded answers for tests: clips, their manifest, and error rates against what was said."""

from __future__ import annotations

import json
import re
import wave
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference.adapters.guards import units
from inference.bootstrap import read_audio

ROOT = Path(__file__).resolve().parents[2]
SPOKEN = ROOT / "tests" / "audio" / "spoken"
RECORDED = ROOT.parent / "shared" / "audio" / "recorded"
MODEL = ROOT / "var" / "models" / "base"

_ONES = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *(
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ),
]
_TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SAME = {"catalog": "catalogue"}


@dataclass(frozen=True, slots=True)
class Clip:
    id: str
    language: Any
    pcm: bytes
    text: str
    terms: tuple[str, ...]
    speech_end_s: float


def clips(folder: Path = SPOKEN) -> list[Clip]:
    return [_clip(folder, entry) for entry in json.loads((folder / "manifest.json").read_text())]


def clip(name: str, folder: Path = SPOKEN) -> Clip:
    return next(one for one in clips(folder) if one.id == name)


def _clip(folder: Path, entry: dict[str, Any]) -> Clip:
    return Clip(
        id=entry["id"],
        language=entry["language"],
        pcm=_pcm(folder / entry["file"]),
        text=entry["text"],
        terms=tuple(t.strip() for t in entry.get("terms", "").split(",") if t.strip()),
        speech_end_s=entry.get("speech_end_s", 0.0),
    )


def _pcm(path: Path) -> bytes:
    if path.suffix != ".wav":
        return read_audio(path)
    with wave.open(str(path)) as audio:
        return bytes(audio.readframes(audio.getnframes()))


def said(text: str) -> list[str]:
    """Units to compare: numbers in words, so that "40%" is "forty percent"."""
    text = re.sub(r"(\d+)\s*%", r"\1 percent", text)
    spelled = re.sub(r"\d+", lambda found: f" {_spell(int(found[0]))} ", text)
    return [_SAME.get(unit, unit) for unit in units(spelled)]


def _spell(number: int) -> str:
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10] + (f" {_ONES[number % 10]}" if number % 10 else "")
    return " ".join(_ONES[int(digit)] for digit in str(number))


def errors(reference: str, heard: str) -> tuple[int, int]:
    """(edits, reference length) in words, or characters for Chinese."""
    wanted, got = said(reference), said(heard)
    row = list(range(len(got) + 1))
    for i, word in enumerate(wanted, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(got, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1], len(wanted)
