"""An answer heard again with the full window and judged again, without the hurry of the live session.

Knows audio and engines, not rows: apps.assessment.tasks reads and writes those.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from inference.assessment import Answer, Assessment, Language, QuestionSpec, Word
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk, Hole
from inference.config import Endpointing
from inference.endpointing import Endpointer, UtteranceEnded
from inference.feedback import Judge
from inference.hearing import sounds_of
from inference.observe import Observe, ignore
from inference.ports import Engines, Priority, Recognizer, Speech, Transcript
from inference.terms.correction import corrected
from inference.terms.gathering import gathered
from inference.transcription import HeardUtterance, Missing, join_texts, on_answer_clock

MARGIN_S = 0.2
LONGEST_S = 29.5  # Whisper's window is 30 s; a live utterance has at most 29 s with its margins
SEARCH_S = 60.0  # so much audio is searched for speech in one step: seconds of work on a slow machine


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What was kept of one answer. `pcm` is empty for a typed one, or when its recording is gone.

    `unheard`: the live session left it unscored, so its live words are not the whole of it. `late`: audio
    came after that session, or as it was broken off. `missing` audio is lost for good; `partial`: some is
    lost or still to come. Names in `subject`, what the interview is about, are likely to be said.
    """

    turn: int
    question: QuestionSpec
    transcript: str
    heard: tuple[HeardUtterance, ...] = ()
    pcm: bytes = b""
    speech_s: float | None = None
    low_confidence: bool = False
    unheard: bool = False
    late: bool = False
    missing: tuple[Missing, ...] = ()
    partial: bool = False
    subject: str = ""

    @property
    def cut_live(self) -> bool:
        """Whether what was heard live tells where all its speech is."""
        return bool(self.heard) and not self.unheard and not self.late


@dataclass(frozen=True, slots=True)
class DeepReading:
    """`decoded` is empty where nothing was heard again; `transcript` and `words` are what was judged.

    `speech_s` is how long was spoken, None where that was not measured anew.
    """

    decoded: tuple[HeardUtterance, ...]
    transcript: str
    words: tuple[Word, ...]
    low_confidence: bool
    assessment: Assessment | None
    speech_s: float | None = None


def _unhurried() -> None:
    """No time limit to begin anew."""


async def read_again(
    engines: Engines,
    given: GivenAnswer,
    observe: Observe = ignore,
    next_step: Callable[[], None] = _unhurried,
) -> DeepReading:
    """Decode and judge one answer again; without a model or a recording, over the words heard live.

    `next_step` is called between pieces of work of at most 30 s of audio each. Raises EngineError when the
    recogniser is lost. `assessment` None: there was nothing to judge, or only parts of an answer that the
    live session could not hear.
    """
    decoded = await _decode_again(engines, given, next_step)
    live = given.heard if given.cut_live else ()
    heard = tuple(_surer(again, live) for again in decoded)
    transcript = join_texts([one.transcript.text for one in heard])
    judgeable = bool(transcript) or not given.unheard
    if not transcript:  # nothing heard again: what the live session heard stands
        heard, transcript = given.heard, given.transcript
    unsure = any(one.transcript.low_confidence for one in heard) if heard else given.low_confidence
    low = unsure or given.partial
    words = tuple(word for one in heard for word in one.transcript.words)
    measured = decoded and not given.cut_live
    speech_s = sum(one.voice_end_s - one.start_s for one in decoded) if measured else None
    answer = Answer(given.question, transcript, words, speech_s or given.speech_s, low)
    judge = Judge(given.turn, engines.llm, emit=lambda _: None, observe=observe)
    assessment = await judge.judge(answer) if transcript and judgeable else None
    scored = assessment is not None and assessment.score is not None
    return DeepReading(decoded, transcript, words, low, assessment if scored else None, speech_s)


async def _decode_again(
    engines: Engines, given: GivenAnswer, next_step: Callable[[], None]
) -> tuple[HeardUtterance, ...]:
    if engines.recognizer is None or not given.pcm:
        return ()
    await engines.recognizer.start()
    next_step()
    cuts = cuts_of(given) if given.cut_live else []
    cuts = cuts or await _cuts_by_voice(engines, given, next_step)
    # One answer has one language, and the longest utterance tells it best.
    language: Language | None = None
    decoded: dict[int, HeardUtterance] = {}
    for cut in sorted(cuts, key=lambda cut: cut.start_s - cut.end_s):
        transcript = await _decode(engines.recognizer, given, cut, language)
        next_step()
        if language is None and transcript.text:
            language = transcript.language
        decoded[cut.number] = HeardUtterance(
            cut.number, transcript, cut.start_s, cut.end_s, speech_end_s=cut.speech_end_s
        )
    return tuple(decoded[number] for number in sorted(decoded))


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of the answer to decode. Seconds on its audio clock."""

    number: int
    start_s: float
    end_s: float
    speech_end_s: float | None = None


def cuts_of(given: GivenAnswer) -> list[Cut]:
    """The live utterances with a margin that reaches at most halfway to the neighbour."""
    end_of_audio_s = len(given.pcm) / BYTES_PER_SAMPLE / SAMPLE_RATE
    heard = sorted(given.heard, key=lambda one: one.start_s)
    cuts = []
    for index, one in enumerate(heard):
        before = heard[index - 1].end_s if index else 0.0
        after = heard[index + 1].start_s if index + 1 < len(heard) else end_of_audio_s
        start_s = one.start_s - min(MARGIN_S, max(0.0, one.start_s - before) / 2)
        end_s = min(one.end_s + min(MARGIN_S, max(0.0, after - one.end_s) / 2), end_of_audio_s)
        if end_s > start_s:
            end_s = min(end_s, start_s + LONGEST_S)
            cuts.append(Cut(one.number, max(0.0, start_s), end_s, min(end_s, one.voice_end_s)))
    return cuts


async def _cuts_by_voice(engines: Engines, given: GivenAnswer, next_step: Callable[[], None]) -> list[Cut]:
    """Where the live session did not hear all of it: find the speech in the recording."""
    if engines.voice is None:
        return []
    sounds = sounds_of(
        engines.voice, Endpointer(Endpointing(), guess_every_s=3600.0), _recording(given, next_step)
    )
    spoken = [sound.utterance async for sound in sounds if isinstance(sound, UtteranceEnded)]
    return [Cut(one.number, one.start_s, one.end_s, one.speech_end_s) for one in spoken]


async def _recording(given: GivenAnswer, next_step: Callable[[], None]) -> AsyncIterator[AudioChunk]:
    """The recording from step to step, with its holes: words are not joined across them."""
    end = len(given.pcm) // BYTES_PER_SAMPLE
    holes = [(min(end, round(one.at_s * SAMPLE_RATE)), one) for one in given.missing]
    start = 0
    for at, missing in holes:
        async for chunk in _pieces(given.pcm, start, at, next_step):
            yield chunk
        yield AudioChunk(at, b"", Hole(missing.seconds, missing.why))
        start = at
    async for chunk in _pieces(given.pcm, start, end, next_step):
        yield chunk


async def _pieces(
    pcm: bytes, start: int, end: int, next_step: Callable[[], None]
) -> AsyncIterator[AudioChunk]:
    for first in range(start, end, round(SEARCH_S * SAMPLE_RATE)):
        last = min(first + round(SEARCH_S * SAMPLE_RATE), end)
        yield AudioChunk(first, pcm[first * BYTES_PER_SAMPLE : last * BYTES_PER_SAMPLE])
        next_step()


async def _decode(
    recognizer: Recognizer, given: GivenAnswer, cut: Cut, language: Language | None
) -> Transcript:
    first, last = (int(at_s * SAMPLE_RATE) * BYTES_PER_SAMPLE for at_s in (cut.start_s, cut.end_s))
    terms = gathered(given.question.terms, given.question.text, given.question.follow_up_to, given.subject)
    voice_end_s = None if cut.speech_end_s is None else cut.speech_end_s - cut.start_s
    speech = Speech(given.pcm[first:last], language, terms, full_window=True, voice_end_s=voice_end_s)
    heard = await recognizer.transcribe(speech, Priority.ANALYSIS)
    return on_answer_clock(corrected(heard, terms), cut.start_s)


def _surer(again: HeardUtterance, live: Sequence[HeardUtterance]) -> HeardUtterance:
    """The second decode, unless it is unsure where the live one was not."""
    before = next((one for one in live if one.number == again.number), None)
    if before is None or not before.transcript.text or before.transcript.low_confidence:
        return again
    doubtful = again.transcript.low_confidence or not again.transcript.text
    return before if doubtful else again
