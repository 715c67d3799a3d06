"""Utterances in, transcript events out: partial guesses, eager decodes, finals and their corrections.

Knows the recogniser port; not turns' ends, scores or sockets.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from inference import events as ev
from inference.assessment import Language, Word
from inference.audio import MissingWhy
from inference.endpointing import Utterance
from inference.guessing import Guesser
from inference.observe import Observe
from inference.ports import EngineError, Priority, Queueing, Recognizer, Speech, Transcript
from inference.repetition import old_again
from inference.terms.correction import corrected

logger = logging.getLogger(__name__)

LANGUAGE_MIN_VOICED_S = 1.0  # of a shorter sound the language is a guess


@dataclass(frozen=True, slots=True)
class HeardUtterance:
    """One finished utterance. Word times are on the answer's audio clock. `lost`: no engine could hear it.

    Its audio ends at `end_s`, the voice in it at `speech_end_s`, where that is known.
    """

    number: int
    transcript: Transcript
    start_s: float
    end_s: float
    lost: bool = False
    speech_end_s: float | None = None

    @property
    def voice_end_s(self) -> float:
        return self.end_s if self.speech_end_s is None else self.speech_end_s


@dataclass(frozen=True, slots=True)
class Missing:
    """Audio of the answer that was lost for good at `at_s`."""

    at_s: float
    seconds: float
    why: MissingWhy


@dataclass(frozen=True, slots=True)
class Listening:
    """What the recogniser needs to know about the answer. `language` None: the first words tell it."""

    turn: int
    language: Language | None
    terms: tuple[str, ...]
    late_s: float


@dataclass(slots=True)
class _Decode:
    utterance: Utterance
    speech: Speech
    task: asyncio.Task[None]
    closed: bool = False
    late: asyncio.TimerHandle | None = None
    result: HeardUtterance | None = None


class Transcriber:
    """All decoding of one answer. `changed` is called whenever more words are known.

    What is told as heard `before` counts as if it had been decoded here, and is not told again.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        listening: Listening,
        emit: Callable[[ev.Event], None],
        observe: Observe,
        changed: Callable[[], None],
        before: tuple[HeardUtterance, ...] = (),
    ) -> None:
        self._before = before
        self._recognizer, self._listening = recognizer, listening
        self._language = listening.language or spoken_language(before)
        self._emit, self._observe, self._changed = emit, observe, changed
        self._decodes: dict[int, _Decode] = {}
        self._guesser = Guesser(recognizer, self._speech, self._guessed, observe)

    @property
    def heard(self) -> tuple[HeardUtterance, ...]:
        """Utterances whose words are known, in order; an eager decode counts while its pause lasts."""
        done = (self._decodes[number].result for number in sorted(self._decodes))
        return (*self._before, *(result for result in done if result is not None))

    @property
    def text(self) -> str:
        """As the recogniser wrote it: how its words end says whether more is to come."""
        return join_texts([heard.transcript.raw or heard.transcript.text for heard in self.heard])

    @property
    def language(self) -> Language | None:
        """What is spoken; None before it is known."""
        return self._language

    @property
    def settled(self) -> bool:
        """Whether every utterance that paused or ended has its words."""
        return all(decode.result is not None for decode in self._decodes.values())

    def cut_with(self, cut: Callable[[float], None]) -> None:
        """`cut` ends the open utterance at a time of the answer: a long one is cut where its words stand."""
        self._guesser.cut = cut

    def guess(self, utterance: Utterance) -> None:
        """Decode an utterance in progress, while there is time for it."""
        self._guesser.guess(utterance)

    def pause(self, utterance: Utterance) -> None:
        """Decode eagerly; `close` takes the result over if nothing more is said."""
        self._guesser.forget_next()
        self._start(utterance, Priority.EAGER)

    def resume(self, number: int) -> None:
        """The speaker went on: the eager decode is worth nothing any more."""
        decode = self._decodes.pop(number, None)
        if decode is not None:
            decode.task.cancel()
            self._observe("guess_dropped", 1)

    def close(self, utterance: Utterance) -> None:
        """The utterance is over: its final is emitted now or as soon as it is decoded."""
        decode = self._decodes.get(utterance.number)
        if decode is None or decode.utterance != utterance:
            self.resume(utterance.number)
            decode = self._start(utterance, Priority.FINAL)
        decode.closed = True
        if decode.result is not None:
            self._emit_final(decode.result)
            return
        if isinstance(self._recognizer, Queueing):
            self._recognizer.hasten(decode.speech)
        loop = asyncio.get_running_loop()
        decode.late = loop.call_later(self._listening.late_s, self._emit_late, decode)

    async def settle(self, within_s: float) -> bool:
        """Wait for all decodes; False when some still run after `within_s`, or ended without words."""
        tasks = [decode.task for decode in self._decodes.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=within_s)
        return self.settled and all(task.done() for task in tasks)

    def stop(self) -> None:
        for decode in self._decodes.values():
            decode.task.cancel()
            if decode.late is not None:
                decode.late.cancel()
        self._guesser.stop()

    def _start(self, utterance: Utterance, priority: Priority) -> _Decode:
        speech = replace(self._speech(utterance), answer_within_s=self._listening.late_s)
        task = asyncio.create_task(self._decode(utterance, speech, priority))
        self._decodes[utterance.number] = decode = _Decode(utterance, speech, task)
        return decode

    async def _decode(self, utterance: Utterance, speech: Speech, priority: Priority) -> None:
        asked = time.monotonic()
        lost = False
        try:
            transcript = await self._recognizer.transcribe(speech, priority)
        except EngineError as exc:
            logger.warning("utterance not recognised: %s", exc)
            self._observe("fallback:asr_lost", 1)
            lost = True
            transcript = self._guess_at(utterance)
        self._observe("asr_s", time.monotonic() - asked)
        await self._take(utterance, transcript, lost)
        if transcript.untried:
            await self._correct(utterance, speech, transcript)

    async def _correct(self, utterance: Utterance, speech: Speech, first: Transcript) -> None:
        """The doubted reading is out; a second one is asked for, behind all who still wait for theirs."""
        self._observe("fallback:asr_untried", 1)
        logger.info("turn %d utterance %d is read again", self._listening.turn, utterance.number)
        speech = replace(speech, full_window=True, answer_within_s=None)
        try:
            second = await self._recognizer.transcribe(speech, Priority.CORRECTION)
        except EngineError as exc:
            logger.warning("an utterance stays unsure: %s", exc)
            return
        if not second.low_confidence or second.confidence > first.confidence:
            self._observe("utterance_corrected", 1)
            await self._take(utterance, second, lost=False)

    async def _take(self, utterance: Utterance, transcript: Transcript, lost: bool) -> None:
        earlier = [heard.transcript for heard in self.heard if heard.number < utterance.number]
        if earlier and old_again(earlier[-1].raw or earlier[-1].text, transcript.text, utterance.voiced_s):
            self._observe("asr_old_text", 1)
            transcript = replace(transcript, text="", words=())
        transcript = await self._put_right(transcript)
        self._finish(utterance, on_answer_clock(transcript, utterance.start_s), lost)

    async def _put_right(self, transcript: Transcript) -> Transcript:
        """Names as they are written, off the loop: comparing sounds takes milliseconds."""
        terms = self._listening.terms
        if not terms and transcript.text.isascii():
            return transcript
        try:
            right = await asyncio.to_thread(corrected, transcript, terms)
        except Exception as exc:  # noqa: BLE001 - its text may hold words of an answer
            logger.error("names stay as they were heard: %s", type(exc).__name__)  # noqa: TRY400
            self._observe("fallback:terms", 1)
            return transcript
        self._observe("terms_corrected", sum(bool(word.heard) for word in right.words))
        return right

    def _finish(self, utterance: Utterance, transcript: Transcript, lost: bool) -> None:
        decode = self._decodes.get(utterance.number)
        if decode is None or decode.utterance is not utterance:
            return
        decode.result = _heard(utterance, transcript, lost=lost)
        self._language = self._language or _told_by(decode.result, utterance.voiced_s)
        if decode.late is not None:
            decode.late.cancel()
        if decode.closed:
            self._emit_final(decode.result)
        elif transcript.text:
            sure = not transcript.low_confidence
            shown, stable = self._guesser.at_pause(utterance.number, transcript.text, sure=sure)
            self._emit_partial(utterance.number, shown, stable)
        self._changed()

    def _guessed(self, number: int, text: str, stable_chars: int) -> None:
        if number not in self._decodes:  # its final, or the decode at its pause, says it better
            self._emit_partial(number, text, stable_chars)

    def _guess_at(self, utterance: Utterance) -> Transcript:
        """What is known of an utterance without a decode of its whole."""
        guess = self._guesser.text_of(utterance.number, utterance.end_s)
        return Transcript(guess, self._language or "en", low_confidence=True)

    def _speech(self, utterance: Utterance, words: bool = True) -> Speech:
        return Speech(
            utterance.pcm,
            self._language,
            self._listening.terms,
            with_words=words,
            voiced_s=utterance.voiced_s,
            voice_end_s=utterance.speech_end_s - utterance.start_s,
        )

    def _emit_partial(self, number: int, text: str, stable_chars: int) -> None:
        self._emit(
            ev.TranscriptPartial(
                turn=self._listening.turn, utterance=number, text=text, stable_chars=stable_chars
            )
        )

    def _emit_late(self, decode: _Decode) -> None:
        """The final is late: show the last guess as unsure. The decode goes on and corrects it."""
        self._observe("fallback:asr_late", 1)
        logger.warning(
            "final transcript late: turn %d utterance %d", self._listening.turn, decode.utterance.number
        )
        self._emit_final(_heard(decode.utterance, self._guess_at(decode.utterance)), guessed=True)

    def _emit_final(self, heard: HeardUtterance, *, guessed: bool = False) -> None:
        transcript = heard.transcript
        words = tuple(
            ev.WordHeard(
                text=w.text, start_s=w.start_s, end_s=w.end_s, confidence=w.confidence, heard=w.heard
            )
            for w in transcript.words
        )
        self._emit(
            ev.TranscriptFinal(
                turn=self._listening.turn,
                utterance=heard.number,
                text=transcript.text,
                words=words,
                start_s=heard.start_s,
                end_s=heard.end_s,
                confidence=transcript.confidence,
                low_confidence=transcript.low_confidence,
                language=transcript.language,
                speech_end_s=heard.speech_end_s,
                guessed=guessed or heard.lost,
                raw=transcript.raw,
            )
        )
        self._guesser.tell_rest(heard.number, heard.end_s)


def heard_before(events: Sequence[ev.Event]) -> tuple[HeardUtterance, ...]:
    """The utterances that an answer's finals tell of, each as it was last corrected.

    It ends before the first that has no final, and before guesses at the end: the audio from there on is to
    be heard again. A guess in the middle stays, as lost.
    """
    finals = _finals(events)
    last = 0
    while last + 1 in finals:
        last += 1
    while last and finals[last].guessed:
        last -= 1
    return tuple(_heard_in(finals[number]) for number in range(1, last + 1))


def words_lost(events: Sequence[ev.Event]) -> bool:
    """Whether an answer's finals tell of speech that no engine has heard whole."""
    return any(final.guessed for final in _finals(events).values())


def heard_in(events: Sequence[ev.Event]) -> tuple[HeardUtterance, ...]:
    """Every utterance that events tell of, of whatever answer, in their order."""
    return tuple(_heard_in(event) for event in events if isinstance(event, ev.TranscriptFinal))


def spoken_language(heard: Sequence[HeardUtterance]) -> Language | None:
    """The language of the first utterance that is long and sure enough to tell it."""
    told = (_told_by(one, one.voice_end_s - one.start_s) for one in heard)
    return next((language for language in told if language is not None), None)


def _told_by(heard: HeardUtterance, voiced_s: float) -> Language | None:
    sure = heard.transcript.text and not heard.lost and not heard.transcript.low_confidence
    return heard.transcript.language if sure and voiced_s >= LANGUAGE_MIN_VOICED_S else None


def missing_before(events: Sequence[ev.Event]) -> tuple[Missing, ...]:
    """The holes of an answer that its events tell of."""
    holes = (event for event in events if isinstance(event, ev.AudioMissing))
    return tuple(Missing(hole.at_s, hole.seconds, hole.why) for hole in holes)


def _finals(events: Sequence[ev.Event]) -> dict[int, ev.TranscriptFinal]:
    """By utterance, each as it was last corrected."""
    return {event.utterance: event for event in events if isinstance(event, ev.TranscriptFinal)}


def _heard_in(final: ev.TranscriptFinal) -> HeardUtterance:
    words = tuple(Word(w.text, w.start_s, w.end_s, w.confidence, w.heard) for w in final.words)
    language: Language = "zh" if final.language == "zh" else "en"
    return HeardUtterance(
        final.utterance,
        Transcript(
            final.text, language, words, final.confidence, low_confidence=final.low_confidence, raw=final.raw
        ),
        final.start_s,
        final.end_s,
        lost=final.guessed,
        speech_end_s=final.speech_end_s,
    )


def _heard(utterance: Utterance, transcript: Transcript, *, lost: bool = False) -> HeardUtterance:
    return HeardUtterance(
        utterance.number,
        transcript,
        utterance.start_s,
        utterance.end_s,
        lost=lost,
        speech_end_s=utterance.speech_end_s,
    )


def on_answer_clock(transcript: Transcript, start_s: float) -> Transcript:
    """The same transcript with word times counted from the start of the answer."""
    moved = tuple(
        replace(word, start_s=round(start_s + word.start_s, 3), end_s=round(start_s + word.end_s, 3))
        for word in transcript.words
    )
    return replace(transcript, words=moved)


def join_texts(texts: list[str]) -> str:
    """Join utterances: with a space, but none between Chinese characters."""
    joined = ""
    for text in filter(None, (t.strip() for t in texts)):
        glue = "" if not joined or (_is_wide(joined[-1]) and _is_wide(text[0])) else " "
        joined += glue + text
    return joined


def _is_wide(char: str) -> bool:
    return "\u2e80" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef" or "\u3000" <= char <= "\u303f"
