"""A session killed in mid answer: the next one goes on from what the durable events tell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from inference import events as ev
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk
from inference.brief import highest_rev, score_stands, waits_before
from inference.ports import Engines, EngineUnavailable, Priority, Speech, Transcript
from inference.session import AnswerSession
from inference.transcription import HeardUtterance, heard_before, missing_before
from tests.inference.sessions import CHUNK, STAR, Played, brief, engines, hear

SAID = {0x10: "First I profiled the hot path.", 0x20: "Then I cached it.", 0x30: "Latency fell by 40%."}


def sound(level: int, seconds: float) -> bytes:
    return bytes([0, level]) * round(seconds * SAMPLE_RATE)


ANSWER = b"".join(
    [sound(0, 0.7), sound(0x10, 2.3), sound(0, 1.4), sound(0x20, 1.9), sound(0, 1.1), sound(0x30, 2.1)]
)
WITH_SILENCE = ANSWER + sound(0, 5)


class _ByLoudness(ScriptedRecognizer):
    """Says the sentence that belongs to how loud the audio is; `finals` keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__("")
        self.finals: list[str] = []

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        said = SAID[max(speech.pcm[1::BYTES_PER_SAMPLE])]
        if priority is Priority.FINAL:
            self.finals.append(said)
        self._script = [said]
        return await super().transcribe(speech, priority)


async def push(session: AnswerSession, pcm: bytes, from_s: float, to_s: float | None = None) -> None:
    """Tenths of a second of the answer, each with time to be worked on."""
    last = len(pcm) // BYTES_PER_SAMPLE if to_s is None else round(to_s * SAMPLE_RATE)
    for start in range(round(from_s * SAMPLE_RATE), last, CHUNK):
        end = min(start + CHUNK, last)
        session.push(AudioChunk(start, pcm[start * BYTES_PER_SAMPLE : end * BYTES_PER_SAMPLE]))
        await asyncio.sleep(0.001)


def durable(events: list[ev.Event]) -> list[ev.Event]:
    """As the event table gives them back."""
    kept = [event for event in events if isinstance(event, ev.DURABLE)]
    return [ev.EVENT.validate_json(event.model_dump_json()) for event in kept]


async def killed_at(kill_s: float, on: Engines) -> list[ev.Event]:
    """What is durable of a session that was killed when so much audio had come."""
    session = AnswerSession(on, brief())
    running = asyncio.create_task(session.run())
    await push(session, WITH_SILENCE, 0.0, kill_s)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return durable([event async for event in session.events])


async def rebuilt(events: Sequence[ev.Event], on: Engines, pcm: bytes = WITH_SILENCE) -> Played:
    """The next session over the same answer, to its end."""
    heard = heard_before(events)
    to_s = heard[-1].end_s if heard else 0.0
    ended = next((event.reason for event in events if isinstance(event, ev.TurnEnded)), None)
    whole = brief(heard=heard, heard_to_s=to_s, missing=missing_before(events), ended=ended)
    played = Played()
    session = AnswerSession(on, whole, observe=played.observe)
    if ended is not None:
        for start in range(round(to_s * SAMPLE_RATE), len(pcm) // BYTES_PER_SAMPLE, CHUNK):
            session.push(AudioChunk(start, pcm[start * 2 : (start + CHUNK) * 2]))
    hearing = asyncio.create_task(hear(session, played))
    if ended is None:
        await push(session, pcm, to_s)
        session.done()
    await hearing
    return played


def folded(events: list[ev.Event]) -> dict[int, ev.TranscriptFinal]:
    return {event.utterance: event for event in events if isinstance(event, ev.TranscriptFinal)}


async def uninterrupted() -> Played:
    return await rebuilt([], Engines(LoudnessDetector(), _ByLoudness(), None))


@pytest.mark.parametrize("kill_s", [0.4, 1.5, 3.2, 3.9, 5.0, 6.4, 7.3, 8.0, 9.5, 10.3, 13.0])
async def test_wherever_it_is_killed_the_words_are_those_of_an_unbroken_session(kill_s: float) -> None:
    whole = await uninterrupted()
    before = await killed_at(kill_s, Engines(LoudnessDetector(), _ByLoudness(), None))
    again = _ByLoudness()
    after = await rebuilt(before, Engines(LoudnessDetector(), again, None))
    numbers = [final.utterance for final in Played([*before, *after.events]).of(ev.TranscriptFinal)]
    assert numbers == [1, 2, 3]  # each told once
    assert folded([*before, *after.events]) == folded(whole.events)
    assert whole.outcome is not None
    assert after.outcome is not None
    assert after.outcome.speech_s == pytest.approx(whole.outcome.speech_s)
    assert replace(after.outcome, speech_s=0) == replace(whole.outcome, speech_s=0)
    ends = Played([*before, *after.events]).of(ev.TurnEnded)
    (end,), (unbroken,) = ends, whole.of(ev.TurnEnded)
    assert end.model_copy(update={"at_s": 0}) == unbroken.model_copy(update={"at_s": 0})
    assert end.at_s == pytest.approx(unbroken.at_s, abs=0.3)  # the clock goes from run to run
    heard = {final.text for final in Played(before).of(ev.TranscriptFinal)}
    assert heard.isdisjoint(again.finals)  # nothing is recognised twice


async def test_the_page_is_not_told_again_that_speech_began() -> None:
    before = await killed_at(5.0, Engines(LoudnessDetector(), _ByLoudness(), None))
    after = await rebuilt(before, Engines(LoudnessDetector(), _ByLoudness(), None))
    assert "speech.started" not in after.types


async def test_the_time_limit_counts_from_the_first_word_heard_before() -> None:
    heard = HeardUtterance(1, Transcript(STAR, "en"), 1.0, 3.0, speech_end_s=2.7)
    session = AnswerSession(engines(), brief(heard=(heard,), heard_to_s=3.0, limit_s=5.0))
    played = Played()
    hearing = asyncio.create_task(hear(session, played))
    await push(session, sound(0, 3) + sound(0x10, 9), 3.0)
    await hearing
    (ended,) = played.of(ev.TurnEnded)
    assert ended.reason == "time_limit"
    assert ended.at_s == pytest.approx(6.1, abs=0.5)


async def test_silence_since_the_words_heard_before_ends_the_turn() -> None:
    heard = HeardUtterance(1, Transcript(STAR, "en"), 1.0, 3.0, speech_end_s=2.7)
    session = AnswerSession(engines(), brief(heard=(heard,), heard_to_s=3.0))
    played = Played()
    hearing = asyncio.create_task(hear(session, played))
    await push(session, sound(0, 8), 3.0)
    await hearing
    assert played.of(ev.TurnEnded)[0].reason == "silence"
    assert played.outcome is not None
    assert played.outcome.transcript == STAR
    assert played.outcome.speech_s == pytest.approx(1.7)


async def test_a_turn_that_had_ended_is_judged_without_audio_and_its_end_is_told_once() -> None:
    heard = HeardUtterance(1, Transcript(STAR, "en"), 1.0, 3.0, speech_end_s=2.7)
    on = Engines(voice=None, recognizer=None, llm=None)
    played = Played()
    await hear(AnswerSession(on, brief(heard=(heard,), heard_to_s=3.0, ended="silence")), played)
    assert "turn.ended" not in played.types
    assert played.outcome is not None
    assert (played.outcome.end_reason, played.outcome.transcript) == ("silence", STAR)
    assert played.outcome.assessment is not None


async def test_last_words_that_were_not_heard_when_the_turn_ended_are_heard_after_all() -> None:
    before = [event for event in (await uninterrupted()).events if isinstance(event, ev.DURABLE)]
    lost = [event for event in before if not (isinstance(event, ev.TranscriptFinal) and event.utterance == 3)]
    again = _ByLoudness()
    ended = [ev.TurnEnded(turn=1, reason="done", at_s=9.5) if e.type == "turn.ended" else e for e in lost]
    after = await rebuilt(ended, Engines(LoudnessDetector(), again, None), ANSWER)
    assert again.finals == [SAID[0x30]]
    assert after.outcome is not None
    assert after.outcome.transcript == " ".join(SAID.values())


@pytest.mark.parametrize("heard", [0, 1])
async def test_in_a_turn_that_had_ended_nobody_begins_to_speak(heard: int) -> None:
    whole = await uninterrupted()
    lost = whole.of(ev.TranscriptFinal)[heard:]
    before = durable([event for event in whole.events if event not in lost])
    ended = [ev.TurnEnded(turn=1, reason="done", at_s=14.5) if e.type == "turn.ended" else e for e in before]
    after = await rebuilt(ended, Engines(LoudnessDetector(), _ByLoudness(), None))
    assert not {"speech.started", "turn.paused", "turn.resumed", "turn.ended"} & set(after.types)
    assert after.outcome is not None
    assert after.outcome.transcript == " ".join(SAID.values())


async def test_a_typed_end_joins_what_was_heard_before() -> None:
    heard = HeardUtterance(1, Transcript("I profiled the hot path.", "en"), 1.0, 3.0)
    session = AnswerSession(engines(), brief(heard=(heard,), heard_to_s=3.0, ended="text"))
    assert session.answer_in_text("Latency fell by 40%.")
    assert not session.answer_in_text("Once more.")
    played = Played()
    await hear(session, played)
    assert played.outcome is not None
    assert played.outcome.transcript == "I profiled the hot path. Latency fell by 40%."


def _final(number: int, text: str, *, guessed: bool = False) -> ev.TranscriptFinal:
    return ev.TranscriptFinal(
        turn=1, utterance=number, text=text, start_s=number, end_s=number + 1, guessed=guessed
    )


def test_a_correction_counts_and_a_last_guess_is_left_to_be_heard_again() -> None:
    heard = heard_before(
        [_final(1, "I", guessed=True), _final(1, "I cached."), _final(2, "And", guessed=True)]
    )
    assert [(one.number, one.transcript.text, one.lost) for one in heard] == [(1, "I cached.", False)]


def test_nothing_counts_as_heard_behind_an_utterance_without_words_of_its_own() -> None:
    assert [one.number for one in heard_before([_final(1, "a"), _final(3, "c")])] == [1]


async def test_words_lost_in_the_middle_stay_lost_so_the_answer_is_not_scored_on_the_others() -> None:
    heard = heard_before([_final(1, "I", guessed=True), _final(2, STAR)])
    assert [one.lost for one in heard] == [True, False]
    played = Played()
    await hear(AnswerSession(engines(), brief(heard=heard, heard_to_s=3.0, ended="done")), played)
    assert played.outcome is not None
    assert (played.outcome.assessment, played.outcome.outcome) == (None, "unscored")


async def test_finals_say_whether_they_are_guesses() -> None:
    on = Engines(LoudnessDetector(), ScriptedRecognizer(EngineUnavailable("lost")), None)
    played = await rebuilt([], on)
    assert {final.guessed for final in played.of(ev.TranscriptFinal)} == {True}


async def test_time_to_think_outlives_the_session_that_gave_it_and_words_end_it() -> None:
    pcm = sound(0x10, 2) + sound(0, 60)
    on = Engines(LoudnessDetector(), _ByLoudness(), None)
    session = AnswerSession(on, brief())
    running = asyncio.create_task(session.run())
    await push(session, pcm, 0.0, 3.0)
    for _ in range(20):
        session.thinking()  # a key pressed over and over
    await push(session, pcm, 3.0, 15.0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    before = durable([event async for event in session.events])
    (waits,) = Played(before).of(ev.TurnWaits)
    assert waits.until_s == waits_before(before) == pytest.approx(33, abs=1)
    heard = heard_before(before)
    again = AnswerSession(on, brief(heard=heard, heard_to_s=heard[-1].end_s, waits_until_s=waits.until_s))
    played = Played()
    hearing = asyncio.create_task(hear(again, played))
    await push(again, pcm, heard[-1].end_s)
    await hearing
    assert played.of(ev.TurnEnded)[0].at_s == pytest.approx(waits.until_s, abs=0.5)
    assert waits_before([*before, ev.TurnResumed(turn=1, at_s=20)]) == 20
    assert waits_before([*before, ev.TurnEnded(turn=1, reason="done", at_s=20)]) == 0


async def test_words_after_time_to_think_say_that_it_is_over() -> None:
    played = Played()
    session = AnswerSession(Engines(LoudnessDetector(), _ByLoudness(), None), brief())
    hearing = asyncio.create_task(hear(session, played))
    pcm = sound(0x10, 2) + sound(0, 10) + sound(0x20, 2)
    await push(session, pcm, 0.0, 2.2)
    session.thinking()
    await push(session, pcm, 2.2)
    session.done()
    session.thinking()  # too late: the turn is over
    await hearing
    assert played.types.count("turn.waits") == 1
    assert played.types.index("turn.waits") < played.types.index("turn.resumed")
    assert "turn.paused" not in played.types[: played.types.index("turn.resumed")]


async def test_the_score_of_an_earlier_session_is_taken_back_by_more_words_and_only_by_them() -> None:
    pcm = sound(0x10, 2) + sound(0, 1.8)
    on = Engines(LoudnessDetector(), _ByLoudness(), None)
    session = AnswerSession(on, brief())
    running = asyncio.create_task(session.run())
    await push(session, pcm, 0.0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    before = durable([event async for event in session.events])
    assert "turn.paused" in Played(before).types
    assert score_stands(before)
    assert not score_stands([*before, ev.TurnEnded(turn=1, reason="done", at_s=3)])
    assert not score_stands([*before, ev.FeedbackWithdrawn(turn=1, rev=highest_rev(before))])
    taken_back = []
    for more in (sound(0x20, 2) + sound(0, 5), sound(0, 5)):
        heard = heard_before(before)
        again = brief(
            heard=heard, heard_to_s=heard[-1].end_s, first_rev=highest_rev(before) + 1, score_stands=True
        )
        played = Played()
        next_session = AnswerSession(on, again)
        hearing = asyncio.create_task(hear(next_session, played))
        await push(next_session, sound(0x10, 2) + sound(0, 0.6) + more, heard[-1].end_s)
        await hearing
        taken_back.append([event.rev for event in played.of(ev.FeedbackWithdrawn)])
    assert taken_back[0][0] == highest_rev(before)
    assert taken_back[1] == []
