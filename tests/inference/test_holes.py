"""Audio that was lost on its way: told in its place, never papered over."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from inference import events as ev
from inference.adapters.fakes import InlineEars, Loudness, ScriptedRecognizer
from inference.audio import SAMPLE_RATE, WINDOW_BYTES, WINDOW_SAMPLES, AudioChunk, Hole
from inference.config import Endpointing
from inference.endpointing import Endpointer, Missed, Onset, Sound
from inference.ports import Engines, Priority
from inference.session import AnswerSession
from inference.transcription import Missing, missing_before
from tests.inference.sessions import STAR, Played, brief, engines, hear, play, silence, speech

BEFORE, AFTER = "I profiled the hot path and", "latency fell by 40%."


async def _with_a_hole(played: Played, on: Engines, missing: tuple[Missing, ...] = ()) -> AnswerSession:
    session = AnswerSession(on, brief(missing=missing), observe=played.observe)
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(2))
    session.hole(3.2, "lost")
    await play(session, speech(2), silence(3))
    session.done()
    await hearing
    return session


async def test_words_before_and_after_a_hole_are_never_one_utterance() -> None:
    played, recognizer = Played(), ScriptedRecognizer(BEFORE, AFTER)
    await _with_a_hole(played, engines(recognizer))
    first, second = played.of(ev.TranscriptFinal)
    assert (first.text, second.text) == (BEFORE, AFTER)
    assert first.end_s == 2.0  # no sample is invented, and none of the next utterance is taken
    assert second.start_s == 2.0
    finals = [length for priority, length in recognizer.asked if priority is Priority.FINAL]
    assert finals[0] == 2.0


async def test_a_hole_is_told_in_its_place_and_the_answer_needs_a_person() -> None:
    played = Played()
    await _with_a_hole(played, engines(ScriptedRecognizer(BEFORE, AFTER)))
    assert played.of(ev.AudioMissing) == [ev.AudioMissing(turn=1, at_s=2.0, seconds=3.2, why="lost")]
    types = played.types
    assert types.index("audio.missing") < types.index("transcript.final")
    assert played.outcome is not None
    assert played.outcome.missing == (Missing(2.0, 3.2, "lost"),)
    assert played.outcome.low_confidence
    assert played.outcome.transcript == f"{BEFORE} {AFTER}"  # not the candidate's words
    done = played.of(ev.FeedbackDone)[-1]
    assert done.low_confidence or "low_confidence" in done.flags


def test_no_sound_from_before_a_hole_begins_an_utterance_after_it() -> None:
    ears = Endpointer(Endpointing())
    before, after = (
        [AudioChunk(n * WINDOW_SAMPLES, bytes(WINDOW_BYTES)) for n in numbers]
        for numbers in (range(16), range(16, 40))
    )
    for window in before:
        ears.feed(window, [0.01])
    (missed,) = ears.miss(before[-1].end_s, Hole(1.0, "lost"))
    assert missed == Missed(before[-1].end_s, Hole(1.0, "lost"))
    onsets = [sound for window in after for sound in ears.feed(window, [0.9]) if isinstance(sound, Onset)]
    assert onsets == [Onset(1, before[-1].end_s)]


async def test_a_hole_that_was_told_before_is_not_told_again_and_still_divides() -> None:
    told = missing_before([ev.AudioMissing(turn=1, at_s=2.0, seconds=3.2, why="lost")])
    played = Played()
    await _with_a_hole(played, engines(ScriptedRecognizer(BEFORE, AFTER)), told)
    assert "audio.missing" not in played.types
    assert len(played.of(ev.TranscriptFinal)) == 2
    assert played.outcome is not None
    assert (played.outcome.missing, played.outcome.low_confidence) == (told, True)


async def test_a_hole_moves_no_clock() -> None:
    played = Played()
    session = AnswerSession(engines(), brief(limit_s=30))
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(2))
    session.hole(3_000.0, "full")
    await play(session, silence(0.4))
    session.done()
    await hearing
    assert played.of(ev.TurnEnded)[0].reason == "done"


async def test_a_hole_is_told_where_nobody_listens() -> None:
    played = Played()
    session = AnswerSession(Engines(voice=None, recognizer=None, llm=None), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(1))
    session.hole(0.5, "unreadable")
    session.answer_in_text(STAR)
    await hearing
    assert played.of(ev.AudioMissing)[0].at_s == 1.0


async def test_an_answer_of_holes_alone_is_for_a_person() -> None:
    played = Played()
    session = AnswerSession(engines(), brief())
    session.hole(20.0, "lost")
    session.done()
    await hear(session, played)
    assert played.of(ev.FeedbackDone)[-1].flags == ("low_confidence", "needs_review")


class _Noted(Endpointer):
    """Notes what it is given."""

    def __init__(self) -> None:
        super().__init__(Endpointing())
        self.runs: list[AudioChunk] = []
        self.holes: list[float] = []

    def feed(self, run: AudioChunk, probabilities: Sequence[float]) -> list[Sound]:
        assert run.samples == len(probabilities) * WINDOW_SAMPLES
        self.runs.append(run)
        return super().feed(run, probabilities)

    def miss(self, at_s: float, hole: Hole) -> list[Sound]:
        self.holes.append(at_s)
        return super().miss(at_s, hole)


@given(st.lists(st.one_of(st.integers(1, 5_000), st.just(0)), max_size=20))
def test_every_sample_between_holes_is_in_a_window_that_tells_its_time(lengths: list[int]) -> None:
    """Samples count from 1 within 30,000, so that each tells where it is from; 0 fills a window up."""

    async def given_to(noted: _Noted) -> None:
        ear = InlineEars(Loudness()).listen(noted, lambda _: None, lambda _: None)
        start = 0
        for length in lengths:
            pcm = array("h", (at % 30_000 + 1 for at in range(start, start + length))).tobytes()
            ear.push(AudioChunk(start, pcm, None if length else Hole(1.0, "lost")))
            start += length
        ear.close()
        await ear.ended

    noted = _Noted()
    asyncio.run(given_to(noted))
    ends = list(accumulate(lengths))
    assert noted.holes == [end / SAMPLE_RATE for end, length in zip(ends, lengths, strict=True) if not length]
    heard: dict[int, int] = {}
    for run in noted.runs:
        heard.update((run.start + at, sample) for at, sample in enumerate(array("h", run.pcm)) if sample)
    assert heard == {at: at % 30_000 + 1 for at in range(sum(lengths))}
