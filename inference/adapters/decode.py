"""One utterance through Whisper: cut window, greedy, guarded, with word times.

Runs in the recogniser's own process (and in benchmarks), never in the web process. Knows no queue.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from faster_whisper import WhisperModel
from faster_whisper.tokenizer import Tokenizer

from inference.adapters import guards
from inference.adapters.loudness import samples_of, silent, voiced_s
from inference.adapters.words import Piece, wordless_s, words_from
from inference.assessment import Language, Word
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, duration_s
from inference.ports import Speech, Transcript

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

LANGUAGES: tuple[Language, ...] = ("en", "zh")
FULL_WINDOW_S = 30.0
# Less than 10 s, or than 2 s of silence behind the voice, costs words (measured: WER 0.085 against 0.044).
MIN_WINDOW_S = 10.0
MARGIN_S = 2.0
TOKENS_A_SECOND: dict[Language, float] = {"en": 7.0, "zh": 10.0}
SPARE_TOKENS = 24
MAX_TOKENS = 448
MAX_TERM_TOKENS = 100
# Whispered to the model before Chinese: simplified characters, and fewer that only sound alike (measured).
CHINESE_HINT = "以下是普通话的句子。"
# 60 readings of three Chinese clips, each cut at ten places, with and without noise: of the characters 0.148
# were wrong with 5 beams, 0.136 with 8, 0.122 with half a second of silence before as well; 9 % more CPU.
LEAD_S: dict[Language, float] = {"en": 0.0, "zh": 0.5}
BEAMS: dict[Language, int] = {"en": 1, "zh": 8}  # of readings that stay; guesses are greedy
# On 17 clips the spoken language had 0.94-1.0 from 3 s on, the other one at most 0.02.
OTHER_LANGUAGE_SURE, OTHER_LANGUAGE_MIN_VOICED_S = 0.9, 1.0
PROMPT_MIN_VOICED_S = 1.0  # a shorter sound is too easily heard as the prompt itself
UNSURE_BELOW = 0.4
REST_SURE = 0.5
FRAMES_A_SECOND = 100


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to try: the window, and what is whispered to the model: the terms, a hint at the language."""

    window_s: float
    lead_s: float = 0.0
    terms: tuple[str, ...] = ()
    hinted: bool = False


@dataclass(frozen=True, slots=True)
class _Reading:
    """What one try gave."""

    seen: guards.Evidence
    log_probability: float
    words: tuple[Word, ...]

    @property
    def fault(self) -> guards.Fault | None:
        return guards.fault(self.seen)

    @property
    def end_s(self) -> float:
        return self.words[-1].end_s if self.words else 0.0

    @property
    def sure(self) -> bool:
        """Whether it may stand behind a text that is known: noise there must not become words."""
        heard = [word.confidence for word in self.words] if self.said else [0.0]
        return fmean(heard) >= REST_SURE and self.seen.no_speech <= guards.NO_SPEECH_LIMIT

    @property
    def said(self) -> list[str]:
        return [] if guards.invented(self.seen) else guards.units(self.seen.text)


class Decoder:
    """A loaded model. Not thread-safe: one decode at a time."""

    def __init__(
        self, model_dir: Path, device: str = "cpu", compute_type: str = "int8", threads: int = 2
    ) -> None:
        self._model = WhisperModel(
            str(model_dir),
            device=device,
            compute_type=compute_type,
            cpu_threads=threads,
            local_files_only=True,
        )
        self._tokenizers = {
            code: Tokenizer(self._model.hf_tokenizer, multilingual=True, task="transcribe", language=code)
            for code in LANGUAGES
        }
        self._simplify: Any = None

    def decode(self, speech: Speech, chinese_full: bool = False) -> Transcript:
        """Read the speech; if a guard doubts it, once more with the other window and no terms, if in time.

        `chinese_full` gives Chinese the 30 s window from the start.
        """
        began = time.perf_counter()
        samples = samples_of(speech.pcm)
        if silent(samples):
            return Transcript("", speech.language or "en", decode_s=time.perf_counter() - began)
        if speech.voiced_s is None:
            speech = replace(speech, voiced_s=voiced_s(samples))
        if (speech.voiced_s or 0.0) < guards.VOICE_MIN_S:
            return Transcript("", speech.language or "en", decode_s=time.perf_counter() - began)
        plan = _first_plan(speech, chinese_full)
        reading = self._read(samples, speech, plan)
        if chinese_full and reading.seen.language == "zh" and plan.window_s < FULL_WINDOW_S:
            plan = replace(plan, window_s=FULL_WINDOW_S)
            reading = self._read(samples, speech, plan)
        doubted, other_s = reading.fault is not None, _other_window_s(duration_s(speech.pcm), plan)
        retried = doubted and _in_time(speech, time.perf_counter() - began, other_s / plan.window_s)
        if retried:
            reading = self._again(reading, samples, speech, other_s)
        transcript = self._transcript(reading, speech)
        took_s = time.perf_counter() - began
        return replace(transcript, retried=retried, untried=doubted and not retried, decode_s=took_s)

    def _again(self, first: _Reading, samples: Floats, speech: Speech, other: float) -> _Reading:
        end_s, voice_end_s = first.end_s, speech.voice_end_s or 0.0
        if first.fault == "truncation" and end_s and voice_end_s - end_s > guards.WORDLESS_MOST_S:
            return self._with_rest(first, samples, speech)
        second = self._read(samples, speech, _Plan(other, _lead_s(speech)))
        return first if first.fault == "truncation" and _is_worse(second, first) else second

    def _with_rest(self, first: _Reading, samples: Floats, speech: Speech) -> _Reading:
        """What was left out at the end, read alone: of the whole the model leaves it out again (measured)."""
        at = round(first.end_s * SAMPLE_RATE)
        left_s = (speech.voice_end_s or 0.0) - first.end_s
        rest = replace(
            speech,
            pcm=speech.pcm[at * BYTES_PER_SAMPLE :],
            language=first.seen.language,
            terms=(),
            voiced_s=min(left_s, speech.voiced_s or 0.0),
            voice_end_s=left_s,
        )
        second = self._read(samples[at:], rest, _first_plan(replace(rest, full_window=False), False))
        whole = _joined(first, second, speech.voice_end_s)
        return whole if second.sure and not second.fault and not whole.fault else first

    def _read(self, samples: Floats, speech: Speech, plan: _Plan) -> _Reading:
        encoded = self._encode(samples, plan)
        language = self._spoken(encoded, speech)
        tokenizer = self._tokenizers[language]
        prompt = self._prompt(tokenizer, plan, language)
        cap = math.ceil(len(samples) / SAMPLE_RATE * TOKENS_A_SECOND[language]) + SPARE_TOKENS
        limit = min(MAX_TOKENS, len(prompt) + cap)
        result = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=BEAMS[language] if speech.with_words else 1,
            max_length=limit,
            suppress_blank=True,
            return_scores=True,
            return_no_speech_prob=True,
        )[0]
        tokens = [token for token in result.sequences_ids[0] if token < tokenizer.eot]
        text = tokenizer.decode(tokens).strip()
        seen = guards.Evidence(
            text=self._simplified(text) if language == "zh" else text,
            language=language,
            voiced_s=cast("float", speech.voiced_s),
            no_speech=float(result.no_speech_prob),
            at_token_limit=len(result.sequences_ids[0]) >= limit - len(prompt),
            terms=plan.terms,
        )
        aligned = speech.with_words and text
        words = self._words(tokens, tokenizer, encoded, speech, plan.lead_s) if aligned else ()
        seen = replace(seen, wordless_s=wordless_s(words, speech.voice_end_s))
        return _Reading(seen, float(result.scores[0]), words)

    def _encode(self, samples: Floats, plan: _Plan) -> Any:
        """Silence is put round the samples: zeros in the mel spectrogram are not silence to the model."""
        wanted, lead = round(plan.window_s * SAMPLE_RATE), round(plan.lead_s * SAMPLE_RATE)
        padded = np.pad(samples, (lead, max(0, wanted - lead - samples.size)))[:wanted]
        features = self._model.feature_extractor(padded)[:, : round(plan.window_s * FRAMES_A_SECOND)]
        return self._model.encode(features)

    def _spoken(self, encoded: Any, speech: Speech) -> Language:
        """The language that was asked for, unless another one was clearly spoken.

        Told to write Chinese, the model translates English speech: words that nobody said.
        """
        if speech.language is not None and (speech.voiced_s or 0.0) < OTHER_LANGUAGE_MIN_VOICED_S:
            return speech.language
        sure = dict(self._model.model.detect_language(encoded)[0])
        heard = max(LANGUAGES, key=lambda code: sure.get(f"<|{code}|>", 0.0))
        if speech.language is None or sure.get(f"<|{heard}|>", 0.0) >= OTHER_LANGUAGE_SURE:
            return heard
        return speech.language

    def _prompt(self, tokenizer: Tokenizer, plan: _Plan, language: Language) -> list[int]:
        hint = tokenizer.encode(CHINESE_HINT) if plan.hinted and language == "zh" else []
        if plan.terms:
            hint = [*hint, *tokenizer.encode(" " + ", ".join(plan.terms))[:MAX_TERM_TOKENS]]
        before = [tokenizer.sot_prev, *hint] if hint else []
        return [*before, *tokenizer.sot_sequence, tokenizer.no_timestamps]

    def _transcript(self, reading: _Reading, speech: Speech) -> Transcript:
        seen = reading.seen
        if not seen.text or guards.invented(seen):
            return Transcript("", seen.language, low_confidence=reading.fault is not None)
        sure = [word.confidence for word in reading.words]
        confidence = sum(sure) / len(sure) if sure else math.exp(min(0.0, reading.log_probability))
        return Transcript(
            text=seen.text,
            language=seen.language,
            words=reading.words,
            confidence=round(confidence, 3),
            low_confidence=reading.fault is not None or confidence < UNSURE_BELOW,
        )

    def _words(
        self, tokens: list[int], tokenizer: Tokenizer, encoded: Any, speech: Speech, lead_s: float
    ) -> tuple[Word, ...]:
        """Times and probabilities from the cross-attention over the same encoder output."""
        length_s = duration_s(speech.pcm)
        frames = round((lead_s + length_s) * FRAMES_A_SECOND)
        found = self._model.find_alignment(tokenizer, [tokens], encoded, frames)[0]
        pieces = [
            Piece(
                t["word"],
                max(0.0, float(t["start"]) - lead_s),
                max(0.0, float(t["end"]) - lead_s),
                float(t["probability"]),
            )
            for t in found
        ]
        language: Language = "zh" if tokenizer.language_code == "zh" else "en"
        if language == "zh":
            pieces = [piece._replace(text=self._simplified(piece.text)) for piece in pieces]
        return words_from(pieces, language, length_s)

    def _simplified(self, text: str) -> str:
        if self._simplify is None:
            from opencc import OpenCC  # noqa: PLC0415 - only Chinese pays for the tables

            self._simplify = OpenCC("t2s")
        return str(self._simplify.convert(text))


def _joined(first: _Reading, rest: _Reading, voice_end_s: float | None) -> _Reading:
    moved = (
        replace(word, start_s=round(first.end_s + word.start_s, 2), end_s=round(first.end_s + word.end_s, 2))
        for word in rest.words
    )
    words = (*first.words, *moved)
    text = ("" if first.seen.language == "zh" else " ").join((first.seen.text, rest.seen.text))
    seen = replace(first.seen, text=text, wordless_s=wordless_s(words, voice_end_s))
    return _Reading(seen, min(first.log_probability, rest.log_probability), words)


def _is_worse(second: _Reading, first: _Reading) -> bool:
    """A text that is merely short beats one that loops: it claims nothing that was not said."""
    fewer = len(second.said) < len(first.said)
    return second.fault in {"repetition", "token_limit"} or (second.fault == "truncation" and fewer)


def _cut_window_s(length_s: float, lead_s: float) -> float:
    return min(FULL_WINDOW_S, max(MIN_WINDOW_S, lead_s + length_s + MARGIN_S))


def _other_window_s(length_s: float, plan: _Plan) -> float:
    return FULL_WINDOW_S if plan.window_s < FULL_WINDOW_S else _cut_window_s(length_s, plan.lead_s)


def _in_time(speech: Speech, first_s: float, ratio: float) -> bool:
    """Whether a second try is likely to end in time: the encoder's work grows with the window."""
    return speech.answer_within_s is None or first_s * (1 + ratio) <= speech.answer_within_s


def _first_plan(speech: Speech, chinese_full: bool) -> _Plan:
    lead_s = _lead_s(speech)
    full = speech.full_window or (chinese_full and speech.language == "zh")
    window_s = FULL_WINDOW_S if full else _cut_window_s(duration_s(speech.pcm), lead_s)
    enough = (speech.voiced_s or 0.0) >= PROMPT_MIN_VOICED_S
    terms = speech.terms if enough else ()
    return _Plan(window_s, lead_s, terms, hinted=enough)


def _lead_s(speech: Speech) -> float:
    """None where the language is not known; nor before what fills the window to its end."""
    lead_s = LEAD_S[speech.language] if speech.language else 0.0
    return lead_s if duration_s(speech.pcm) + lead_s + MARGIN_S <= FULL_WINDOW_S else 0.0


@dataclass(frozen=True, slots=True)
class WindowComparison:
    """The same speech decoded with the cut and with the 30 s window, round by round. Seconds."""

    cut_s: tuple[float, ...]
    padded_s: tuple[float, ...]


def compare_windows(decoder: Decoder, pcm: bytes, language: Language, rounds: int = 5) -> WindowComparison:
    """Alternate the two windows, so that a busy machine slows both alike."""
    taken: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds):
        for full in (False, True):
            began_s = time.perf_counter()
            decoder.decode(Speech(pcm, language, full_window=full))
            taken[full].append(time.perf_counter() - began_s)
    return WindowComparison(tuple(taken[False]), tuple(taken[True]))
