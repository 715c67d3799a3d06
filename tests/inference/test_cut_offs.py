"""How often the last clock would cut a speaker off, and how long it takes: texts and pauses, no audio.

Pauses at clause ends as people make them: log-normal, median 0.6 s, 95 % under 1.6 s, none over 2.5 s. The
recogniser is scripted and closes half of the clauses that end in a comma, or in nothing, with a full stop.
"""

from __future__ import annotations

import json
import math
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from inference.assessment import QuestionSpec
from inference.config import TurnTaking
from inference.pauses import OwnPauses
from inference.turn_taking import floor_for
from tests.inference.spoken import SPOKEN

TAKES = 100
MEDIAN_S, NINETEEN_OF_TWENTY_S, LONGEST_S = 0.6, 1.6, 2.5
SPREAD = math.log(NINETEEN_OF_TWENTY_S / MEDIAN_S) / 1.645
HEARD_LATE_S = 0.1  # the detector's last window of voice, and the run of windows in which a clock strikes
OPENING = {"but", "because", "so", "which", "where", "then", "when", "that"}
ANSWERS = [entry for entry in json.loads((SPOKEN / "manifest.json").read_text()) if entry["text"]]


@dataclass(frozen=True)
class Struck:
    """What the last clock did with one answer. `delay_s` None: the speaker was cut off."""

    delay_s: float | None


def clauses(text: str) -> list[str]:
    """Up to each mark, and before a word that opens a clause."""
    found: list[list[str]] = [[]]
    for word in text.split():
        if len(found[-1]) >= 3 and word.lower().strip(".,") in OPENING:
            found.append([])
        found[-1].append(word)
        if word[-1] in ".,;:?!":
            found.append([])
    return [" ".join(words) for words in found if words]


def repeatable(seed: object) -> random.Random:
    return random.Random(f"cut offs {seed}")  # noqa: S311 - to be repeated, not to be secret


def pause_s(chance: random.Random) -> float:
    while (drawn := MEDIAN_S * math.exp(SPREAD * chance.gauss(0.0, 1.0))) > LONGEST_S:
        pass
    return drawn


def written(clause: str, chance: random.Random) -> str:
    """As a recogniser writes what it heard before a pause."""
    closed = clause.rstrip(",") + "."
    return closed if clause[-1] not in ".?!" and chance.random() < 0.5 else clause


def replay(entry: dict[str, Any], pauses: Iterator[float], chance: random.Random) -> Struck:
    own, said = OwnPauses(), ""
    floor = floor_for(QuestionSpec(entry["question"], entry["language"]), own, TurnTaking())
    parts = clauses(entry["text"])
    for clause in parts[:-1]:
        said = f"{said} {written(clause, chance)}"
        length_s = next(pauses)
        if length_s > floor.patience(said).hard_s:
            return Struck(None)
        own.went_on(length_s)
    return Struck(floor.patience(f"{said} {parts[-1]}").hard_s + HEARD_LATE_S)


def made(takes: int) -> list[Struck]:
    struck = []
    for take in range(takes):
        for entry in ANSWERS:
            chance = repeatable(f"{entry['id']} {take}")
            struck.append(replay(entry, (pause_s(chance) for _ in count()), chance))
    return struck


def delays(struck: Sequence[Struck]) -> list[float]:
    return sorted(one.delay_s for one in struck if one.delay_s is not None)


def test_hardly_anybody_is_cut_off_and_the_interviewer_speaks_soon() -> None:
    struck = made(TAKES)
    cut_off = sum(one.delay_s is None for one in struck) / len(struck)
    waited = delays(struck)
    assert cut_off <= 0.012, (
        f"{cut_off:.1%} cut off"
    )  # the goal is 2 %; a recogniser may do worse than ours here
    assert statistics.median(waited) <= 2.2
    assert waited[int(0.95 * len(waited))] <= 3.2


def test_nobody_is_cut_off_in_the_pauses_that_the_clips_have() -> None:
    for entry in ANSWERS:
        inner = [p["length_s"] for p in entry["pauses"] if p["start_s"] < entry["speech_end_s"] - 0.01]
        lengths = iter([*inner, *[0.3] * 20])
        assert replay(entry, lengths, repeatable(entry["id"])).delay_s is not None, entry["id"]


def test_a_silence_that_cuts_off_no_more_people_is_longer() -> None:
    """What the words are worth: silence alone, as careful, would let everybody wait."""
    struck = made(TAKES)
    ours = sum(one.delay_s is None for one in struck) / len(struck)
    chance = repeatable("silence")
    pauses = [
        [pause_s(chance) for _ in clauses(entry["text"])[1:]] for _ in range(TAKES) for entry in ANSWERS
    ]
    silence_s = next(tenth / 10 for tenth in range(5, 40) if _cut_off(pauses, tenth / 10) <= ours)
    assert silence_s > statistics.median(delays(struck)) - HEARD_LATE_S


def _cut_off(answers: list[list[float]], silence_s: float) -> float:
    return sum(any(length_s > silence_s for length_s in pauses) for pauses in answers) / len(answers)
