"""A speech server's answer as a transcript, doubted by the same guards as our own recogniser's.

Knows the OpenAI API's `verbose_json` and `json`, not HTTP. No error carries a word of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, ValidationError

from inference.adapters import guards
from inference.adapters.words import Piece, wordless_s, words_from
from inference.assessment import Language, Word
from inference.audio import duration_s
from inference.nlp.language import detect
from inference.ports import Speech, Transcript

UNSURE_BELOW = 0.4
UNKNOWN_CONFIDENCE = 0.5  # the server says nothing of it: neither sure nor unsure
UNITS_A_SECOND: Final[dict[Language, float]] = {"en": 7.0, "zh": 10.0}
SPARE_UNITS = 24
LANGUAGES: Final[dict[str, Language]] = {
    "en": "en",
    "english": "en",
    "zh": "zh",
    "chinese": "zh",
    "mandarin": "zh",
}

_Number = Annotated[float, Field(allow_inf_nan=False)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class ReplyInvalid(Exception):  # noqa: N818 - named for what is wrong
    """Not JSON, or not of the API's shape."""


class _Word(BaseModel):
    word: str
    start: _Seconds
    end: _Seconds
    probability: _Share | None = None


class _Segment(BaseModel):
    avg_logprob: _Number | None = None
    no_speech_prob: _Share | None = None


class _Reply(BaseModel):
    text: str
    language: str | None = None
    words: list[_Word] | None = None
    segments: list[_Segment] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What was sent. `voiced_s` is known here, by the voice detector or by the energy."""

    speech: Speech
    voiced_s: float
    terms: tuple[str, ...]


def transcript_of(body: bytes, asked: Asked) -> Transcript:
    """Raises ReplyInvalid. A reading that a guard doubts is `untried`: another engine may do better."""
    try:
        reply = _Reply.model_validate_json(body, strict=True)
    except ValidationError:
        raise ReplyInvalid from None  # the cause holds the text it failed on
    language, ours = _language(reply, asked.speech)
    text = _plain(reply.text, language)
    words = _words(reply, text, language, asked.speech) if text else ()
    seen = guards.Evidence(
        text=text,
        language=language,
        voiced_s=asked.voiced_s,
        no_speech=min(_given(one.no_speech_prob for one in reply.segments or ()), default=0.0),
        at_token_limit=_too_much(text, language, duration_s(asked.speech.pcm)),
        terms=asked.terms,
        wordless_s=wordless_s(words, asked.speech.voice_end_s),
    )
    doubted = guards.fault(seen) is not None
    if not text or guards.invented(seen):
        return Transcript("", language, low_confidence=doubted, untried=doubted)
    confidence = _confidence(reply)
    unsure = not ours or confidence < UNSURE_BELOW
    return Transcript(text, language, words, round(confidence, 3), doubted or unsure, untried=doubted)


def _given(values: Any) -> list[float]:
    return [value for value in values if value is not None]


def _language(reply: _Reply, speech: Speech) -> tuple[Language, bool]:
    """The language of the text, and whether it is one of ours."""
    if reply.language:
        named = LANGUAGES.get(reply.language.lower().split("-")[0])
        return named or speech.language or detect(reply.text), named is not None
    return speech.language or detect(reply.text), True


def _too_much(text: str, language: Language, length_s: float) -> bool:
    """More than anybody can say in the time: cheap, and so asked of a text of any length."""
    return len(text) > (length_s * UNITS_A_SECOND[language] + SPARE_UNITS) * 12 or (
        len(guards.units(text)) > length_s * UNITS_A_SECOND[language] + SPARE_UNITS
    )


def _plain(text: str, language: Language) -> str:
    """One line of printable characters; Chinese simplified."""
    line = "".join(char for char in " ".join(text.split()) if char.isprintable())
    return str(_simplifier().convert(line)) if language == "zh" else line


@cache
def _simplifier() -> Any:
    from opencc import OpenCC  # noqa: PLC0415 - only Chinese pays for the tables

    return OpenCC("t2s")


def _confidence(reply: _Reply) -> float:
    """The mean word probability, else the segments' mean probability, else neither sure nor unsure."""
    if sure := _given(word.probability for word in reply.words or ()):
        return fmean(sure)
    logs = _given(segment.avg_logprob for segment in reply.segments or ())
    return math.exp(min(0.0, fmean(logs))) if logs else UNKNOWN_CONFIDENCE


def _words(reply: _Reply, text: str, language: Language, speech: Speech) -> tuple[Word, ...]:
    """None where the server gives none, or others than its text has."""
    if not reply.words or not speech.with_words:
        return ()
    fallback = _confidence(reply)
    pieces = [
        Piece(
            (" " if word.word[:1].isspace() else "") + _plain(word.word, language),
            word.start,
            max(word.start, word.end),
            fallback if word.probability is None else word.probability,
        )
        for word in reply.words
    ]
    if language == "en" and not any(piece.text.startswith(" ") for piece in pieces):
        pieces = [piece._replace(text=" " + piece.text) for piece in pieces]
    words = _as_written(words_from(pieces, language, duration_s(speech.pcm)), text)
    starts = [word.start_s for word in words]
    said = "".join(guards.units("".join(f" {word.text}" for word in words)))
    return words if said == "".join(guards.units(text)) and starts == sorted(starts) else ()


def _as_written(words: Sequence[Word], text: str) -> tuple[Word, ...]:
    """Some servers give words without their marks: the text has them."""
    written = text.split()
    if len(written) != len(words):
        return tuple(words)
    return tuple(
        Word(shape, word.start_s, word.end_s, word.confidence)
        for shape, word in zip(written, words, strict=True)
    )
