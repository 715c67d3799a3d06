"""Where clauses end in the spoken clips: `python -m tests.bench.clauses` writes clauses.json anew.

Kept in a file, so that pauses stay in the same places whatever becomes of the recogniser.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np

from inference.adapters.decode import Decoder
from inference.assessment import Word
from inference.audio import SAMPLE_RATE
from inference.endpointing import Utterance
from inference.ports import Speech
from inference.transcription import on_answer_clock
from tests.bench.recordings import CLAUSES, Recording, samples, spoken
from tests.bench.voice import utterances
from tests.inference.spoken import MODEL

CLOSING = re.compile(r"[.,;:?!]$")
OPENING = {"but", "because", "so", "which", "where", "then", "when", "that"}
LEAST_WORDS = 3  # of a clause that no mark closes
FRAME = SAMPLE_RATE // 50


def main() -> None:
    decoder = Decoder(MODEL)
    found = {one.id: clause_ends(decoder, one) for one in spoken()}
    CLAUSES.write_text(json.dumps(found, indent=1) + "\n")


def clause_ends(decoder: Decoder, one: Recording) -> list[float]:
    """The quietest place between a clause's last word and the next one's first."""
    words = [word for piece in utterances(one.pcm) for word in _words(decoder, one, piece)]
    ends, since = [], 0
    for word, following in pairwise(words):
        since += 1
        opens = following.text.lower().strip(".,") in OPENING and since >= LEAST_WORDS
        if CLOSING.search(word.text) or opens:
            ends.append(_quietest(one.pcm, word.end_s - 0.08, following.start_s + 0.08))
            since = 0
    return [at_s for at_s in ends if at_s < one.speech_end_s - 0.2]


def _words(decoder: Decoder, one: Recording, piece: Utterance) -> list[Word]:
    heard = decoder.decode(Speech(piece.pcm, one.language, one.terms, full_window=True))
    return list(on_answer_clock(heard, piece.start_s).words)


def _quietest(pcm: bytes, from_s: float, to_s: float) -> float:
    first = round(max(0.0, from_s) * SAMPLE_RATE)
    heard = samples(pcm)[first : round(to_s * SAMPLE_RATE)]
    starts = range(0, max(1, heard.size - FRAME), FRAME // 4)
    loudness = [float(np.sum(heard[start : start + FRAME] ** 2)) for start in starts]
    quiet = [
        start for start, loud in zip(starts, loudness, strict=True) if loud <= min(loudness) * 1.01 + 1e-9
    ]
    return round((first + quiet[len(quiet) // 2] + FRAME // 2) / SAMPLE_RATE, 3)


if __name__ == "__main__":
    main()
