"""B7: what the cut window costs in words and saves in time, against Whisper's 30 s; and text from nothing.

Both windows read the same utterances, as our endpointer cuts them, with the same guards and second tries.
Texts are compared as `tests.inference.spoken.said` has them: lower case, no punctuation, numbers in words.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from faster_whisper import WhisperModel

from inference import events as ev
from inference.adapters.decode import Decoder
from inference.adapters.guards import compresses, loops
from inference.ports import Engines, Speech
from inference.transcription import join_texts
from tests.bench.figures import Neighbours, Row, Table, say
from tests.bench.lockstep import replay_all
from tests.bench.recordings import SNRS_DB, Recording, no_speech, recorded, samples, spoken, with_noise
from tests.bench.voice import utterances
from tests.inference.spoken import MODEL, errors, said

THREADS = 1  # as the product decodes; both windows alike
LEAST_WORDS = 1_500
SIDES = ("cut window", "padded to 30 s")


@dataclass
class Side:
    """One window: edits and units by language and kind, and what it took."""

    name: str
    edits: dict[tuple[str, str], int] = field(default_factory=dict)
    units: dict[tuple[str, str], int] = field(default_factory=dict)
    cpu_s: float = 0.0
    loops: list[str] = field(default_factory=list)

    def add(self, one: Recording, text: str) -> None:
        edits, units = errors(one.text, text)
        key = (one.language, _noise(one))
        self.edits[key] = self.edits.get(key, 0) + edits
        self.units[key] = self.units.get(key, 0) + units
        if loops(said(text)) or compresses(text):
            self.loops.append(f"{self.name}, {one.id}: {text[:80]}")

    def rate(self, language: str, noise: str | None = None) -> float:
        """Percent of words, or of characters, that were wrong."""
        keys = [key for key in self.units if key[0] == language and noise in {None, key[1]}]
        return 100.0 * sum(self.edits[key] for key in keys) / max(1, sum(self.units[key] for key in keys))

    def count(self, language: str) -> int:
        return sum(units for (spoken_in, _), units in self.units.items() if spoken_in == language)

    def wrong(self, language: str, noise: str | None = None) -> int:
        return sum(
            edits for key, edits in self.edits.items() if key[0] == language and noise in {None, key[1]}
        )


def cut_against_padded() -> list[Table]:
    """Every clip as it is, and with noise at each level."""
    neighbours, decoder = Neighbours(), Decoder(MODEL, threads=THREADS)
    clips = [*spoken(), *recorded()]
    if not recorded():
        say("B7: no recorded clips here: no real voices and no Chinese")
    clips += [with_noise(one, snr_db) for snr_db in SNRS_DB for one in clips]
    sides = [Side(name) for name in SIDES]
    for number, one in enumerate(clips, 1):
        say(f"B7: {number}/{len(clips)} {one.id}")
        _read(decoder, one, sides)
    return [_words(sides, neighbours), *_chinese(sides)]


def _read(decoder: Decoder, one: Recording, sides: Sequence[Side]) -> None:
    """Utterance by utterance, so that both windows meet the same machine."""
    texts: list[list[str]] = [[] for _ in sides]
    for piece in utterances(one.pcm):
        speech = Speech(piece.pcm, one.language, one.terms, voiced_s=piece.voiced_s)
        for side, words, full in zip(sides, texts, (False, True), strict=True):
            began = time.process_time()
            words.append(decoder.decode(replace(speech, full_window=full)).text)
            side.cpu_s += time.process_time() - began
    for side, words in zip(sides, texts, strict=True):
        side.add(one, join_texts(words))


def _words(sides: Sequence[Side], neighbours: Neighbours) -> Table:
    cut, padded = sides
    rows = []
    for noise in dict.fromkeys(noise for _, noise in cut.units):
        rows += [Row(f"WER, {noise}: {side.name}", [side.rate("en", noise)], "%") for side in sides]
    rows += [Row(f"WER of all: {side.name}", [side.rate("en")], "%") for side in sides]
    rows += [
        Row("WER, cut - padded, points", [cut.rate("en") - padded.rate("en")], "", goal=1.0),
        Row("CPU, cut : padded", [cut.cpu_s / padded.cpu_s], "", goal=0.45),
        Row("loops, cut window", [float(len(cut.loops))], "", goal=0.0),
        Row("loops, padded to 30 s", [float(len(padded.loops))], ""),
        Row("English words compared", [float(cut.count("en"))], "", goal=LEAST_WORDS, at_least=True),
    ]
    notes = [neighbours.note(), *(loop for side in sides for loop in side.loops)]
    return Table("B7: cut against padded (base, int8, greedy)", rows, notes)


def _chinese(sides: Sequence[Side]) -> list[Table]:
    """In the clips as they are: characters of so few clips say nothing in noise."""
    cut, padded = sides
    if not cut.count("zh"):
        return []
    rows = [
        Row("CER: cut window", [cut.rate("zh", "as it is")], "%", goal=10.0),
        Row("CER: padded to 30 s", [padded.rate("zh", "as it is")], "%"),
    ]
    rows.append(
        Row(
            "characters, cut - padded",
            [float(cut.wrong("zh", "as it is") - padded.wrong("zh", "as it is"))],
            "",
            goal=2.0,
        )
    )
    rows += [Row(f"CER of all, with noise: {side.name}", [side.rate("zh")], "%") for side in sides]
    return [Table("B7: Chinese", rows)]


async def from_nothing(engines: Engines, seconds: float = 30.0) -> Table:
    """Seconds of sound without a word under which our session, or faster-whisper, writes text."""
    sounds = {
        name: Recording(name, "no speech", "en", "", "", (), pcm, seconds - 1.0)
        for name, pcm in no_speech(seconds).items()
    }
    played = await replay_all(engines, list(sounds.values()))
    model = WhisperModel(str(MODEL), compute_type="int8", cpu_threads=THREADS, local_files_only=True)
    rows, notes = [], []
    for one in played:
        finals = [event for _, event in one.of(ev.TranscriptFinal) if event.text]
        name = one.recording.id
        rows.append(Row(f"{name}: ours", [sum(f.end_s - f.start_s for f in finals)], "s", goal=0.0))
        parts = list(model.transcribe(samples(one.recording.pcm), language="en")[0])
        theirs = [part for part in parts if part.text.strip()]
        rows.append(Row(f"{name}: plain faster-whisper", [sum(p.end - p.start for p in theirs)], "s"))
        notes += [f"ours wrote over {name}: {final.text[:80]}" for final in finals]
    return Table(f"B7: seconds of text out of {seconds:.0f} s without speech", rows, notes)


def _noise(one: Recording) -> str:
    return one.kind if "dB" in one.kind else "as it is"
