"""What a session does while nothing is said, or with a key held: on the audio clock, with scripted sound."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from inference import events as ev
from inference.adapters.fakes import ScriptedRecognizer
from inference.config import SessionConfig, TurnTaking
from inference.pauses import OwnPauses
from inference.ports import Engines, EngineUnavailable
from inference.session import AnswerSession
from tests.inference.sessions import Played, answer, brief, engines, hear, play, silence, speech

CONFIG = TurnTaking()
LINE = "I profiled the hot path and then I cached the catalogue and moved all the slow queries to a replica."


class Sure:
    """A model of turns that always gives the same answer."""

    def __init__(self, over: float | None) -> None:
        self.answer = over
        self.asked: list[int] = []

    async def over(self, pcm: bytes) -> float | None:
        self.asked.append(len(pcm))
        return self.answer

    async def aclose(self) -> None:
        pass


def with_turn_model(model: Sure, *lines: str) -> Engines:
    return replace(engines(ScriptedRecognizer(*lines)), turns=model)


async def test_who_never_speaks_is_asked_and_the_turn_then_ends_without_a_score() -> None:
    played = await answer(silence(100))
    assert [event.asked for event in played.of(ev.TurnSilent)] == [1]
    assert played.of(ev.TurnSilent)[0].at_s < 46
    assert played.of(ev.TurnEnded)[0].reason == "no_answer"
    assert 89 < played.of(ev.TurnEnded)[0].at_s < 91
    assert played.outcome is not None
    assert (played.outcome.outcome, played.outcome.assessment) == ("unscored", None)
    assert "feedback.score" not in played.types
    assert "question.follow_up" not in played.types


async def test_whose_words_are_still_awaited_has_not_left_the_question_unanswered() -> None:
    played = Played()
    recognizer = ScriptedRecognizer(LINE, delay_s=60.0)
    session = AnswerSession(engines(recognizer), brief(), SessionConfig(settle_s=0.1))
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(2), silence(92))
    await hearing
    assert played.of(ev.TurnEnded)[0].reason == "silence"
    assert played.outcome is not None
    assert played.outcome.outcome == "unscored"


async def test_whoever_answers_when_asked_is_waited_for() -> None:
    played = Played()
    session = AnswerSession(engines(), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, silence(46))
    session.here()
    await play(session, silence(44))
    assert "turn.ended" not in played.types
    await play(session, speech(2), silence(4))
    await hearing
    assert played.of(ev.TurnEnded)[0].reason == "silence"
    assert played.outcome is not None
    assert played.outcome.assessment is not None


async def test_whoever_answers_while_older_audio_is_still_heard_is_waited_for_from_then_on() -> None:
    played = Played()
    session = AnswerSession(engines(), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, silence(46))
    session.here(60.0)  # the recording is that long already
    await play(session, silence(92))
    assert "turn.ended" not in played.types  # counted from second 46 it would have at 136
    await play(session, silence(14))
    await hearing
    assert 149 < played.of(ev.TurnEnded)[0].at_s < 151


async def test_words_that_no_engine_could_hear_are_no_missing_answer() -> None:
    lost = ScriptedRecognizer(EngineUnavailable("gone"))
    played = await answer(speech(2), silence(100), on=engines(lost))
    assert played.of(ev.TurnEnded)[0].reason == "silence"
    assert played.outcome is not None
    assert played.outcome.outcome == "unscored"


async def test_with_a_key_held_silence_ends_nothing_and_the_score_stands_once_it_is_let_go() -> None:
    played = Played()
    session = AnswerSession(engines(ScriptedRecognizer("I profiled the hot path and", delay_s=0.05)), brief())
    hearing = asyncio.create_task(hear(session, played))
    session.hold(True)
    await play(session, speech(2), silence(0.8))  # what the page sends after the key is let go
    async with asyncio.timeout(60):
        while "turn.paused" not in played.types:
            await asyncio.sleep(0.01)
    await play(session, silence(10))
    assert "turn.ended" not in played.types
    await play(session, speech(1))
    session.done()
    await hearing
    assert played.types.index("turn.paused") < played.types.index("turn.resumed")
    assert played.of(ev.TurnEnded)[0].reason == "done"


async def test_talk_is_not_cut_below_the_limit_and_the_end_of_the_time_is_told_before_it_comes() -> None:
    played = await answer(speech(39), silence(3), limit_s=40)
    (warned,) = played.of(ev.TurnTimeLeft)
    assert abs(warned.left_s - 4) < 0.01
    assert 35.5 < warned.at_s < 37
    assert played.of(ev.TurnEnded)[0].at_s >= 40


async def test_the_speakers_own_pauses_are_kept_for_the_next_answer() -> None:
    own, played = OwnPauses(), Played()
    session = AnswerSession(engines(ScriptedRecognizer("I profiled the hot path and")), brief(), own=own)
    hearing = asyncio.create_task(hear(session, played))
    await play(session, silence(10), speech(2), silence(1.5), speech(2), silence(1.5), speech(1))
    session.done()
    await hearing
    assert own.count == 2  # the ten seconds before the first word belong to the question
    assert 1.3 < own.mean_s < 1.7


async def test_a_model_of_turns_hears_the_last_eight_seconds_once_a_pause() -> None:
    model = Sure(0.5)
    await answer(speech(12), silence(1), speech(1), silence(0.4), on=with_turn_model(model, "It held."))
    assert len(model.asked) == 2
    assert model.asked == [8 * 2 * 16_000] * 2


async def test_an_ending_that_sounds_open_is_waited_for_longer() -> None:
    plain = await answer(speech(8), silence(4), on=engines(ScriptedRecognizer(LINE)))
    unsure = await answer(speech(8), silence(4), on=with_turn_model(Sure(None), LINE))
    still_open = await answer(speech(8), silence(4), on=with_turn_model(Sure(0.01), LINE))
    ends = [played.of(ev.TurnEnded)[0].at_s for played in (plain, unsure, still_open)]
    assert ends[0] == ends[1]
    assert ends[2] - ends[0] > 0.4


async def test_what_a_model_of_turns_says_of_one_pause_is_forgotten_with_it() -> None:
    model = Sure(0.01)
    played = Played()
    session = AnswerSession(with_turn_model(model, LINE), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(8), silence(1))
    model.answer = None
    await play(session, speech(2), silence(4))
    await hearing
    end = played.of(ev.TurnEnded)[0]
    assert end.speech_end_s is not None
    assert end.at_s - end.speech_end_s < CONFIG.hard_unfinished_s
