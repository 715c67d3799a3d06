"""Guesses at an utterance that is still being said: what of it stands, and where to cut one that is long.

The first work to be left out when the recogniser is busy. Knows nothing of finals or events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from inference.agreement import StablePrefix
from inference.assessment import Word
from inference.audio import WINDOW_S
from inference.cutting import CUT_AFTER_S, cut_at, quietest
from inference.endpointing import Utterance
from inference.observe import Observe
from inference.ports import EngineError, Priority, Queueing, Recognizer, Speech, Transcript

logger = logging.getLogger(__name__)


class Guesser:
    """One guess at a time; the latest utterance that waits wins. `tell` gets its number, text, stable length.

    `cut` ends a long utterance at a time of the answer; None: nobody can.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        speech: Callable[[Utterance, bool], Speech],
        tell: Callable[[int, str, int], None],
        observe: Observe,
    ) -> None:
        self.cut: Callable[[float], None] | None = None
        self._recognizer, self._speech, self._tell, self._observe = recognizer, speech, tell, observe
        self._stable = StablePrefix()
        self._texts: dict[int, str] = {}
        self._words: tuple[int, Sequence[Word]] = (0, ())  # of the last guess at a long utterance
        self._cut, self._cut_at_s = 0, 0.0  # the utterance that was cut last, and where
        self._parts = "", ""  # the guess at it, before and after the cut
        self._running: asyncio.Task[None] | None = None
        self._next: Utterance | None = None
        self._shed = False

    def text_of(self, number: int, end_s: float) -> str:
        """The last guess at this utterance, which ends there."""
        return self._parts[0] if self._was_cut(number, end_s) else self._texts.get(number, "")

    def guess(self, utterance: Utterance) -> None:
        if isinstance(self._recognizer, Queueing) and self._recognizer.busy:
            self._leave_out()
            return
        if self._running is not None and not self._running.done():
            if self._next is not None:
                self._observe("guess_dropped", 1)
            self._next = utterance
            return
        self._running = asyncio.create_task(self._guess(utterance))

    def tell_rest(self, number: int, end_s: float) -> None:
        """This utterance has its words: what was cut off behind them stays in sight until it is guessed."""
        rest = self._parts[1]
        if rest and self._was_cut(number, end_s) and number + 1 not in self._texts:
            self._texts[number + 1] = rest
            self._tell(number + 1, rest, 0)

    def forget_next(self) -> None:
        """The utterance pauses: what waits is older than what is decoded there."""
        self._next = None

    def at_pause(self, number: int, text: str, *, sure: bool) -> tuple[str, int]:
        """How a reading at a pause is shown, and how much of it stands if more is said."""
        return self._stable.settle(number, text) if sure else self._stable.feed(number, text)

    def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()

    def _was_cut(self, number: int, end_s: float) -> bool:
        """A cut that was asked for is not made where a pause came before it."""
        return number == self._cut and abs(end_s - self._cut_at_s) <= WINDOW_S

    def _leave_out(self) -> None:
        self._observe("guess_shed", 1)
        if not self._shed:
            logger.info("the recogniser is busy: fewer guesses are shown in this answer")
        self._shed = True

    async def _guess(self, utterance: Utterance) -> None:
        following: Utterance | None = utterance
        while following is not None:
            await self._guess_once(following)
            following, self._next = self._next, None

    async def _guess_once(self, utterance: Utterance) -> None:
        speech = self._speech(utterance, _length_s(utterance) > CUT_AFTER_S)
        try:
            guess = await self._recognizer.transcribe(speech, Priority.PARTIAL)
        except EngineError:
            self._observe("guess_dropped", 1)
            return
        if guess.untried:
            self._observe("guess_dropped", 1)  # a guard doubts it: the next one may be better
            return
        if not guess.text:
            return
        shown, stable = self._stable.feed(utterance.number, guess.text)
        self._texts[utterance.number] = shown
        self._tell(utterance.number, shown, stable)
        if speech.with_words:
            self._shorten(utterance, guess)

    def _shorten(self, utterance: Utterance, guess: Transcript) -> None:
        """Cut what is long where it stands, so that the rest is decoded alone."""
        number, before = self._words
        self._words = utterance.number, guess.words
        if self.cut is None or number != utterance.number or self._cut == number:
            return
        at_s = cut_at(before, guess.words, _length_s(utterance))
        if at_s is not None:
            self._parts = _parts(guess, at_s)
            self._cut, self._cut_at_s = number, utterance.start_s + quietest(utterance.pcm, at_s)
            self._observe("utterance_cut", 1)
            self.cut(self._cut_at_s)


def _parts(guess: Transcript, at_s: float) -> tuple[str, str]:
    glue = "" if guess.language == "zh" else " "
    head = [word.text for word in guess.words if word.start_s + word.end_s <= 2 * at_s]
    return glue.join(head), glue.join(word.text for word in guess.words[len(head) :])


def _length_s(utterance: Utterance) -> float:
    return utterance.end_s - utterance.start_s
