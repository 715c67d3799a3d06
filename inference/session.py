"""One live answer: audio in, events out.

    push -> ears (a thread for all sessions) -> sounds -+-> transcriber -> transcript.*
                                                  |     |
                       turn.* <- three clocks <---+     +-> judge -> feedback.*, question.follow_up

The speaker is heard while earlier speech is decoded and judged. Knows nothing of sockets or the database.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from inference import events as ev
from inference.assessment import Answer, Assessment, QuestionSpec
from inference.audio import SAMPLE_RATE, AudioChunk, Hole, MissingWhy
from inference.brief import AnswerBrief, AnswerOutcome
from inference.channel import Channel
from inference.clocks import TOLD_EVERY_S, TurnClocks
from inference.config import SessionConfig
from inference.endpointing import (
    Before,
    Endpointer,
    Guess,
    Heard,
    Missed,
    Onset,
    Pause,
    Resumed,
    Sound,
    UtteranceEnded,
)
from inference.feedback import Judge
from inference.judging import Judging
from inference.nlp.language import detect
from inference.observe import Observe, ignore
from inference.pauses import OwnPauses
from inference.ports import Engines, EngineUnavailable, OpenEar
from inference.terms.gathering import gathered
from inference.transcription import HeardUtterance, Listening, Missing, Transcriber, join_texts
from inference.turn_listener import TurnListener
from inference.turn_taking import floor_for

logger = logging.getLogger(__name__)

EARLY_CHUNKS = 1_200  # pushed before `run`: what a restart brings, in chunks of two seconds
EVENTS = 4_000


class AnswerSession:
    """Work on one turn until it is over and judged. Made, pushed to and run on one event loop.

    `own` are the speaker's pauses, where earlier answers have told of them.
    """

    def __init__(
        self,
        engines: Engines,
        brief: AnswerBrief,
        config: SessionConfig | None = None,
        observe: Observe = ignore,
        own: OwnPauses | None = None,
    ) -> None:
        self.events: Channel[ev.Event] = Channel(EVENTS)
        self._engines, self._brief, self._observe = engines, brief, observe
        self._config = config or SessionConfig()
        self._early: Channel[AudioChunk] = Channel(EARLY_CHUNKS)
        self._ear: OpenEar | None = None
        judge = Judge(brief.turn, engines.llm, self._emit, observe, brief.first_rev - 1, brief.score_stands)
        self._judging = Judging(judge)
        self._transcriber: Transcriber | None = None
        self._ended = brief.ended
        self._leaves = False
        self._typed = ""
        self._deaf = False  # typing was offered
        self._unheard = False  # words were said that nobody has: what there is must not be scored
        self._missing: list[Missing] = list(brief.missing)
        self._told = list(brief.missing)  # holes that may come again and were told before
        self._pushed_to = round(brief.heard_to_s * SAMPLE_RATE)
        self._at_s = brief.heard_to_s
        self._onset_s = brief.heard[0].start_s if brief.heard else None
        self._speech_end_s = brief.heard[-1].voice_end_s if brief.heard else None
        self._speech_s = sum(heard.voice_end_s - heard.start_s for heard in brief.heard)
        self._heard_last: Heard | None = None
        floor = floor_for(brief.question, own or OwnPauses(), self._config.turn_taking)
        self._clocks = TurnClocks(floor, brief.limit_s, self._onset_s)
        self._waits_until_s = self._clocks.wait(brief.waits_until_s)
        self._turns = TurnListener(engines.turns, self._turn_over) if engines.turns is not None else None

    def push(self, chunk: AudioChunk) -> None:
        """Take audio. Never waits: two minutes behind, the oldest is dropped and counted."""
        self._pushed_to = chunk.start + chunk.samples
        dropped = self._dropped
        if self._turns is not None:
            self._turns.push(chunk)
        (self._early.put if self._ear is None else self._ear.push)(chunk)
        if self._dropped != dropped:
            self._observe("audio_dropped", 1)

    def hole(self, seconds: float, why: MissingWhy) -> None:
        """`seconds` of audio after what was pushed are lost for good: no words are joined across them."""
        self.push(AudioChunk(self._pushed_to, b"", Hole(seconds, why)))

    def done(self) -> None:
        """The Done key, or the end of the audio: what was pushed is heard, then the turn ends."""
        self._end("done")

    def skip(self) -> None:
        self._end("skipped")

    def leave(self) -> None:
        """Done, or skipped when nothing turns out to be said in all that was pushed."""
        self._leaves = self._ended is None
        self._end("done")

    def answer_in_text(self, text: str) -> bool:
        """A typed answer, joined to what was said before. False, changing nothing, when the turn is over."""
        awaited = self._brief.ended == "text" and not self._typed
        if self._ended is not None and not awaited:
            return False
        self._typed = text.strip()
        self._end("text")
        return True

    def thinking(self, now_s: float = 0.0) -> None:
        """ "I'm thinking": no clock strikes for a while. `now_s`: what was recorded, if not all is heard."""
        at_s = max(now_s, self._at_s)
        self._waits(at_s, self._clocks.think(at_s))

    def here(self, now_s: float = 0.0) -> None:
        """Somebody is there, though nothing is said."""
        at_s = max(now_s, self._at_s)
        self._waits(at_s, self._clocks.here(at_s))

    def _waits(self, at_s: float, until_s: float) -> None:
        """Told, and thereby kept: the session that goes on after a lost line gives the same time."""
        if self._ended is None and abs(until_s - self._waits_until_s) >= TOLD_EVERY_S:
            self._waits_until_s = until_s
            self._emit(ev.TurnWaits(turn=self._brief.turn, at_s=at_s, until_s=until_s))

    def hold(self, held: bool) -> None:
        """Whether the speaker talks with a key held: then silence ends nothing."""
        self._clocks.hold(held)

    async def run(self) -> AnswerOutcome:
        """Listen until the turn ends, then settle, judge and ask. Cancelling stops every task."""
        try:
            await self._listen()
            return await self._conclude()
        finally:
            for part in (self._ear, self._turns, self._transcriber):
                if part is not None:
                    part.stop()
            await self._judging.stop()
            self.events.close()

    async def _listen(self) -> None:
        voice, recognizer = self._engines.voice, self._engines.recognizer
        if voice is None or recognizer is None:
            await self._pass_by()  # text mode: the recording is kept by the caller
            return
        asked = self._brief.question
        terms = gathered(asked.terms, asked.text, asked.follow_up_to, self._brief.subject)
        listening = Listening(self._brief.turn, self._brief.spoken, terms, self._config.late_s)
        self._transcriber = Transcriber(
            recognizer, listening, self._emit, self._observe, self._words_changed, self._brief.heard
        )
        if self._cut_short:
            return
        before = Before(self._brief.heard[-1].number, self._speech_end_s) if self._brief.heard else None
        endpointer = Endpointer(self._config.endpointing, self._config.partial_every_s, before)
        self._ear = voice.listen(endpointer, self._hear_all, self._unheard_from_here)
        self._transcriber.cut_with(self._ear.cut)
        for chunk in self._early.taken():
            self._ear.push(chunk)
        if self._ended is not None:
            self._ear.close()
        await self._ear.ended

    def _hear_all(self, sounds: Sequence[Sound]) -> None:
        for sound in sounds:
            self._hear(sound)
            if self._cut_short:
                return  # nothing is open; what was pushed and not yet heard is not part of it

    def _unheard_from_here(self, why: EngineUnavailable) -> None:
        logger.warning("voice detector lost: %s", why)
        self._observe("fallback:vad_lost", 1)
        self._unheard = True
        self._offer_typing()

    @property
    def _cut_short(self) -> bool:
        return self._ended in {"silence", "skipped", "no_answer"} and self._brief.ended is None

    @property
    def _dropped(self) -> int:
        """Chunks that nobody heard, being too far behind."""
        return self._early.dropped + (0 if self._ear is None else self._ear.dropped)

    async def _pass_by(self) -> None:
        """Nobody hears the audio; what is missing of it is told all the same."""
        if self._ended is not None:
            self._early.close()
        async for chunk in self._early:
            if chunk.hole is not None:
                self._miss(chunk.start_s, chunk.hole)

    def _miss(self, at_s: float, hole: Hole) -> None:
        missing = Missing(round(at_s, 3), hole.seconds, hole.why)
        if missing in self._told:
            self._told.remove(missing)
            return
        self._missing.append(missing)
        self._observe("audio_missing", 1)
        turn, at_s = self._brief.turn, missing.at_s
        self._emit(ev.AudioMissing(turn=turn, at_s=at_s, seconds=missing.seconds, why=missing.why))

    def _offer_typing(self) -> None:
        if not self._deaf:
            self._deaf = True
            self._emit(ev.Problem(code="asr_lost"))
            self._emit(ev.ModeChanged(mode="text", reason="asr_lost"))

    def _hear(self, sound: Sound) -> None:
        transcriber = self._transcriber
        assert transcriber is not None  # noqa: S101 - there before the ear
        match sound:
            case Onset(at_s=at_s):
                self._speaks(at_s, self._config.endpointing.preroll_s)
            case Resumed(number=number, at_s=at_s):
                transcriber.resume(number)
                self._speaks(at_s)
            case Guess(utterance):
                transcriber.guess(utterance)
            case Pause(utterance):
                self._observe("endpoint_s", utterance.end_s - utterance.speech_end_s)
                transcriber.pause(utterance)
            case UtteranceEnded(utterance):
                self._speech_s += utterance.speech_end_s - utterance.start_s
                transcriber.close(utterance)
            case Missed(at_s=at_s, hole=hole):
                self._miss(at_s, hole)
            case Heard():
                self._tick(sound)

    def _speaks(self, at_s: float, preroll_s: float = 0.0) -> None:
        """Speech began or went on: what was shown no longer covers the answer."""
        waiting = self._clocks.waiting
        self._clocks.speaks(at_s, self._speech_end_s, preroll_s)
        if self._turns is not None:
            self._turns.speaks()
        if self._onset_s is None:
            self._onset_s = at_s
            if self._brief.ended is None:
                self._emit(ev.SpeechStarted(turn=self._brief.turn, at_s=at_s))
        if waiting:
            self._emit(ev.TurnResumed(turn=self._brief.turn, at_s=at_s))
        self._judging.withdraw()

    def _tick(self, heard: Heard) -> None:
        """A little later on the audio clock: has a clock struck?"""
        self._at_s, self._speech_end_s, self._heard_last = heard.at_s, heard.speech_end_s, heard
        asks_after_s = self._config.turn_taking.turn_model_after_s
        if self._turns is not None and not heard.speaking and heard.silence_s >= asks_after_s:
            self._turns.pause(heard.at_s)
        if self._brief.ended is None:
            self._strike(heard)

    def _turn_over(self, over: float) -> None:
        self._clocks.over = over

    def _strike(self, heard: Heard) -> None:
        transcriber = self._transcriber
        said = transcriber.text if transcriber is not None and transcriber.settled else None
        turn, at_s, clocks = self._brief.turn, heard.at_s, self._clocks
        for stroke in clocks.strike(heard, said):
            match stroke:
                case "soft":
                    self._soft_commit()
                case "hard":
                    self._end("silence")
                case "nobody":
                    self._end("silence" if said != "" or self._lost else "no_answer")
                case "time_limit":
                    self._end("time_limit")
                case "ask":
                    self._emit(ev.TurnSilent(turn=turn, at_s=at_s, asked=clocks.asked))
                case "time_left":
                    self._emit(ev.TurnTimeLeft(turn=turn, at_s=at_s, left_s=clocks.left_s))

    def _words_changed(self) -> None:
        """New words at a pause: show where the answer stands, or correct what was judged."""
        if self._lost:
            self._offer_typing()
        if self._heard_last is not None and self._ended is None:
            self._strike(self._heard_last)  # no more audio may come before the next word
        if self._ended is not None or self._transcriber is None or not self._transcriber.settled:
            return
        answer = self._answer()
        if self._lost or answer == self._judging.answer or not answer.text:
            return
        if self._clocks.paused:
            self._judging.begin(answer)
        else:
            self._judging.sketch(answer)

    def _soft_commit(self) -> None:
        self._emit(
            ev.TurnPaused(
                turn=self._brief.turn, at_s=self._at_s, speech_end_s=self._speech_end_s or self._at_s
            )
        )
        if not self._lost:
            self._judging.begin(self._answer())

    def _end(self, reason: ev.EndReason) -> None:
        if self._ended is None:
            self._ended = reason
            self._early.close()
            if self._ear is not None:
                self._ear.stop() if self._cut_short else self._ear.close()

    async def _conclude(self) -> AnswerOutcome:
        nothing_said = self._leaves and self._onset_s is None and not self._gaps
        reason: ev.EndReason = "skipped" if nothing_said else self._ended or "done"
        turn, at_s, end_s = self._brief.turn, self._at_s, self._speech_end_s
        if self._brief.ended is None:
            self._emit(ev.TurnEnded(turn=turn, reason=reason, at_s=at_s, speech_end_s=end_s))
        if reason == "skipped":
            self._judging.withdraw()
            return self._outcome(reason, self._answer(), None, "unscored")
        if self._transcriber is not None and not await self._transcriber.settle(self._config.settle_s):
            logger.error("turn %d: decodes still running long after its end", self._brief.turn)
            self._observe("fallback:asr_lost", 1)
            self._unheard = True
        answer = self._answer()
        if self._lost and not self._typed:
            return self._outcome(reason, answer, None, self._judging.unscored(low_confidence=True))
        if not answer.text:
            return self._outcome(reason, answer, None, self._judging.unscored(low_confidence=self._gaps))
        assessment = await self._judging.reading(answer)
        if assessment.score is None:
            return self._outcome(reason, answer, assessment, "unscored")
        if self._brief.ask_follow_up:
            self._emit(
                ev.FollowUp(turn=self._brief.turn, text=assessment.follow_up, source=assessment.source)
            )
        degraded = self._engines.llm is not None and assessment.source == "rules"
        return self._outcome(reason, answer, assessment, "degraded" if degraded else "complete")

    @property
    def _lost(self) -> bool:
        return any(heard.lost for heard in self._heard) or self._unheard

    @property
    def _gaps(self) -> bool:
        """Some of what was said has no words here: nobody listened to it, or it never came."""
        return self._unheard or self._dropped > 0 or bool(self._missing)

    @property
    def _heard(self) -> tuple[HeardUtterance, ...]:
        return self._brief.heard if self._transcriber is None else self._transcriber.heard

    def _answer(self) -> Answer:
        heard = self._heard
        spoken = [h.transcript.text for h in heard]
        text = join_texts([*spoken, self._typed])
        return Answer(
            question=self._question(text),
            text=text,
            words=tuple(word for h in heard for word in h.transcript.words),
            speech_s=self._speech_s if any(spoken) else None,
            low_confidence=self._gaps or any(h.transcript.low_confidence for h in heard),
        )

    def _question(self, text: str) -> QuestionSpec:
        """As the judge reads it: where the speaker chose the language, in that of the words."""
        question = self._brief.question
        return replace(question, language=detect(text)) if self._brief.any_language and text else question

    def _outcome(
        self, reason: ev.EndReason, answer: Answer, assessment: Assessment | None, outcome: ev.Outcome
    ) -> AnswerOutcome:
        """What is kept: the very answer that was judged, whatever came since."""
        return AnswerOutcome(
            turn=self._brief.turn,
            end_reason=reason,
            transcript=answer.text,
            utterances=self._heard,
            assessment=assessment,
            outcome=outcome,
            low_confidence=answer.low_confidence,
            speech_s=self._speech_s,
            speech_end_s=self._speech_end_s,
            missing=tuple(self._missing),
        )

    def _emit(self, event: ev.Event) -> None:
        self.events.put(event)
