from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from inference import events as ev
from inference.adapters.fakes import InlineEars, Loudness, ScriptedAssessor, ScriptedRecognizer
from inference.assessment import Assessment
from inference.audio import AudioChunk
from inference.config import SessionConfig
from inference.hearing import Ears
from inference.nlp.score import assess
from inference.nlp.stream import pieces
from inference.ports import AssessmentPiece, Engines, EngineUnavailable, JudgementDisputed, ScorePiece
from inference.session import EARLY_CHUNKS, AnswerSession
from tests.inference.sessions import (
    CHUNK,
    LOUD,
    QUESTION,
    QUIET,
    STAR,
    Played,
    answer,
    brief,
    engines,
    hear,
    play,
    silence,
    speech,
)


def _final_feedback(played: Played) -> list[ev.Event]:
    rev = max(event.rev for event in played.of(ev.FeedbackDone))
    return [event for event in played.events if getattr(event, "rev", None) == rev]


async def test_a_spoken_answer_is_heard_scored_and_followed_up() -> None:
    played = await answer(silence(0.5), speech(3), silence(3))
    assert played.outcome is not None
    assert played.outcome.end_reason == "silence"
    assert played.outcome.transcript == STAR
    assert played.outcome.assessment is not None
    assert played.outcome.assessment.score is not None
    final = _final_feedback(played)
    kinds = [e.part if isinstance(e, ev.FeedbackDelta) else e.type for e in final]
    order = list(dict.fromkeys(kinds))
    assert order == ["feedback.started", "feedback.score", "weakness", "detail", "feedback.done"]
    types = played.types
    assert types.index("speech.started") < types.index("transcript.final") < types.index("turn.paused")
    assert types.index("turn.paused") < types.index("turn.ended") < types.index("question.follow_up")
    assert types.count("question.follow_up") == 1


async def test_a_score_before_the_end_of_the_turn_is_marked_provisional_until_the_soft_commit() -> None:
    played = await answer(speech(2), silence(0.4), speech(2), silence(3))
    scores = played.of(ev.FeedbackScore)
    assert [score.provisional for score in scores] == [True, True, False]
    assert played.types.index("feedback.withdrawn") < played.types.index("turn.paused")
    assert [gone.rev for gone in played.of(ev.FeedbackWithdrawn)] == [1]  # by words, never by its successor


async def test_speech_after_the_soft_commit_reopens_the_turn_and_judges_the_whole_answer() -> None:
    recognizer = ScriptedRecognizer("I profiled the hot path.", "As a result latency fell by 40%.")
    played = await answer(speech(2), silence(1.2), speech(2), silence(3), on=engines(recognizer))
    types = played.types
    assert types.count("turn.paused") == 2
    assert types.index("turn.paused") < types.index("turn.resumed") < types.index("turn.ended")
    withdrawn = {event.rev for event in played.of(ev.FeedbackWithdrawn)}
    settled = [score.rev for score in played.of(ev.FeedbackScore) if not score.provisional]
    assert settled[0] in withdrawn
    assert settled[-1] not in withdrawn
    assert played.outcome is not None
    assert played.outcome.transcript == "I profiled the hot path. As a result latency fell by 40%."


async def test_a_pause_after_but_does_not_end_the_turn() -> None:
    recognizer = ScriptedRecognizer(
        "I am proud of what we built, but", "I would like to work on a larger product."
    )
    played = await answer(speech(2), silence(3.5), speech(2), silence(3), on=engines(recognizer))
    assert played.types.count("turn.ended") == 1
    assert [final.utterance for final in played.of(ev.TranscriptFinal)] == [1, 2]


async def test_done_ends_the_turn_at_once_and_the_last_words_are_kept() -> None:
    played = await answer(speech(2))
    ended = played.of(ev.TurnEnded)[0]
    assert ended.reason == "done"
    assert played.outcome is not None
    assert played.outcome.transcript == STAR
    assert [score.provisional for score in played.of(ev.FeedbackScore)][-1] is False


async def test_thinking_holds_every_clock() -> None:
    played = Played()
    session = AnswerSession(engines(), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(2), silence(0.3))
    session.thinking()
    await play(session, silence(20))
    assert "turn.paused" not in played.types
    assert "turn.ended" not in played.types
    await play(session, silence(14))
    await hearing
    assert played.of(ev.TurnEnded)[0].reason == "silence"


async def test_silence_alone_is_no_turn_and_gets_no_score() -> None:
    played = await answer(silence(10))
    assert "transcript.final" not in played.types
    assert "feedback.score" not in played.types
    assert "question.follow_up" not in played.types
    assert played.of(ev.FeedbackDone)[-1].outcome == "unscored"
    assert played.of(ev.TurnEnded)[0].speech_end_s is None


async def test_a_typed_answer_is_judged_like_a_spoken_one_and_joins_what_was_said() -> None:
    played = Played()
    session = AnswerSession(engines(ScriptedRecognizer("I profiled the hot path.")), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(2), silence(1))
    session.answer_in_text("As a result latency fell by 40%.")
    await hearing
    assert played.outcome is not None
    assert played.outcome.end_reason == "text"
    assert played.outcome.transcript == "I profiled the hot path. As a result latency fell by 40%."
    assert played.outcome.assessment is not None


async def test_text_that_comes_after_the_end_is_refused_and_what_was_judged_is_kept() -> None:
    model = ScriptedAssessor(lambda a: [0.3, *_by_model(replace(assess(a), source="llm"))])
    played = Played()
    session = AnswerSession(engines(llm=model), brief())
    hearing = asyncio.create_task(hear(session, played))
    assert session.answer_in_text(STAR)
    await asyncio.sleep(0.1)  # the model still judges
    assert not session.answer_in_text("bananas and nothing else at all")
    await hearing
    assert played.outcome is not None
    assert played.outcome.transcript == STAR
    assert played.outcome.assessment is not None
    assert all(q in STAR for d in played.outcome.assessment.dimensions for q in d.quotes)


async def test_a_skipped_question_is_not_scored() -> None:
    played = Played()
    session = AnswerSession(engines(), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(1))
    session.skip()
    await play(session, silence(0.1))
    await hearing
    assert played.outcome is not None
    assert played.outcome.assessment is None
    assert "question.follow_up" not in played.types


@pytest.mark.parametrize(
    ("pushed", "heard_as"), [(LOUD, ("done", "complete")), (QUIET, ("skipped", "unscored"))]
)
async def test_who_leaves_right_behind_the_first_words_has_them_heard_and_only_silence_is_skipped(
    pushed: bytes, heard_as: tuple[str, str]
) -> None:
    ears = Ears(Loudness(), tick_s=0.05)
    session = AnswerSession(replace(engines(), voice=ears), brief())
    running = asyncio.create_task(session.run())
    await asyncio.sleep(0)
    for at in range(10):
        session.push(AudioChunk(at * CHUNK, pushed))
    session.leave()
    async with asyncio.timeout(60):
        outcome = await running
    await ears.aclose()
    assert (outcome.end_reason, outcome.outcome) == heard_as
    assert outcome.transcript == (STAR if heard_as[0] == "done" else "")


async def test_leaving_an_answer_with_a_hole_in_it_skips_nothing() -> None:
    session = AnswerSession(engines(), brief())
    session.hole(2.0, "lost")
    session.leave()
    outcome = await session.run()
    assert (outcome.end_reason, outcome.outcome) == ("done", "unscored")


async def test_the_time_limit_counts_from_the_first_word_and_loses_none() -> None:
    played = await answer(silence(4), speech(8), limit_s=5.0)
    ended = played.of(ev.TurnEnded)[0]
    assert ended.reason == "time_limit"
    assert ended.at_s == pytest.approx(9.0 - 0.3, abs=0.5)
    assert played.outcome is not None
    assert played.outcome.transcript == STAR


async def test_a_late_final_is_shown_as_unsure_and_corrected_when_the_decode_ends() -> None:
    recognizer = ScriptedRecognizer(STAR, delay_s=1.4)
    played = await answer(speech(2), silence(1), on=engines(recognizer))
    finals = played.of(ev.TranscriptFinal)
    assert [(f.utterance, f.low_confidence, f.guessed) for f in finals] == [
        (1, True, True),
        (1, False, False),
    ]
    assert finals[0].text == " ".join(STAR.split()[:3])
    assert finals[1].text == STAR
    assert ("fallback:asr_late", 1) in played.observed


async def test_words_that_no_engine_could_hear_are_never_scored_and_typing_is_offered() -> None:
    recognizer = ScriptedRecognizer(EngineUnavailable("lost twice"))
    played = await answer(speech(2), silence(1), on=engines(recognizer))
    assert "feedback.score" not in played.types
    assert played.of(ev.FeedbackDone)[-1].outcome == "unscored"
    assert played.of(ev.ModeChanged)[0].mode == "text"
    assert played.outcome is not None
    assert played.outcome.assessment is None
    assert played.outcome.low_confidence


async def test_after_words_that_no_engine_could_hear_nothing_shows_a_score() -> None:
    recognizer = ScriptedRecognizer(EngineUnavailable("lost twice"), STAR)
    played = await answer(speech(2), silence(0.7), speech(2), silence(3), on=engines(recognizer))
    assert [final.guessed for final in played.of(ev.TranscriptFinal)][-1] is False
    assert "turn.paused" in played.types
    assert "feedback.score" not in played.types


class _DetectorThatGoes(Loudness):
    """Hears as Loudness does, for so many windows."""

    def __init__(self, windows: int) -> None:
        self._left = windows

    def score(self, states: Sequence[object], windows: Sequence[bytes]) -> Sequence[float]:
        self._left -= len(windows)
        if self._left < 0:
            raise EngineUnavailable("gone")
        return super().score(states, windows)


async def test_half_an_answer_is_not_scored_when_the_detector_is_lost_in_its_middle() -> None:
    half_heard = Engines(InlineEars(_DetectorThatGoes(windows=100)), ScriptedRecognizer(STAR), None)
    played = await answer(speech(2), silence(0.8), speech(2), silence(0.5), on=half_heard)
    assert played.of(ev.FeedbackScore)[0].provisional
    assert played.of(ev.FeedbackDone)[-1].outcome == "unscored"
    assert played.outcome is not None
    assert (played.outcome.assessment, played.outcome.low_confidence) == (None, True)
    assert ("fallback:vad_lost", 1) in played.observed


async def test_an_answer_whose_last_words_never_come_is_not_scored_on_the_others() -> None:
    played = Played()
    recognizer = ScriptedRecognizer(STAR, STAR, delay_s=0.0)
    session = AnswerSession(engines(recognizer), brief(), SessionConfig(settle_s=0.1), observe=played.observe)
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(2), silence(0.8))
    recognizer.delay_s = 5.0
    await play(session, speech(2))
    session.done()
    await hearing
    assert played.of(ev.FeedbackDone)[-1].outcome == "unscored"
    assert played.outcome is not None
    assert played.outcome.assessment is None
    assert ("fallback:asr_lost", 1) in played.observed


async def test_an_answer_with_audio_that_nobody_heard_needs_a_person() -> None:
    played = Played()
    session = AnswerSession(engines(), brief(), observe=played.observe)
    for number in range(EARLY_CHUNKS + 5):  # all at once: the session has no time to listen
        session.push(AudioChunk(number * 1_600, LOUD if number > EARLY_CHUNKS - 20 else QUIET))
    session.done()
    await hear(session, played)
    assert ("audio_dropped", 1) in played.observed
    assert "needs_review" in played.of(ev.FeedbackDone)[-1].flags


def _by_model(answer_assessment: Assessment) -> list[AssessmentPiece | float | EngineUnavailable]:
    return [*pieces(answer_assessment)]


async def test_the_models_reading_is_shown_when_it_comes_in_time() -> None:
    model = ScriptedAssessor(lambda a: _by_model(replace(assess(a), source="llm")))
    played = await answer(speech(2), silence(3), on=engines(llm=model))
    assert played.of(ev.FeedbackScore)[-1].source == "llm"
    assert played.of(ev.FeedbackDone)[-1].outcome == "complete"
    assert played.outcome is not None
    assert played.outcome.outcome == "complete"


async def test_a_model_that_fails_before_its_first_piece_leaves_the_rules_result_in_the_same_rev() -> None:
    model = ScriptedAssessor(lambda _: [0.01, EngineUnavailable("first token late")])
    played = await answer(speech(2), silence(3), on=engines(llm=model))
    scores = [score for score in played.of(ev.FeedbackScore) if not score.provisional]
    assert [score.source for score in scores] == ["rules"]
    assert played.of(ev.FeedbackDone)[-1].outcome == "degraded"
    assert ("fallback:llm", 1) in played.observed


async def test_a_model_that_contradicts_the_rules_leaves_their_result_for_a_person_to_look_at() -> None:
    model = ScriptedAssessor(lambda _: [JudgementDisputed("out of bounds")])
    played = await answer(speech(2), silence(3), on=engines(llm=model))
    done = played.of(ev.FeedbackDone)[-1]
    assert (done.outcome, "needs_review" in done.flags) == ("degraded", True)
    assert played.outcome is not None
    assert played.outcome.assessment is not None
    assert "needs_review" in played.outcome.assessment.flags
    late = ScriptedAssessor(lambda _: [EngineUnavailable("first token late")])
    played = await answer(speech(2), silence(3), on=engines(llm=late))
    assert "needs_review" not in played.of(ev.FeedbackDone)[-1].flags


async def test_a_model_that_breaks_off_is_taken_back_before_the_rules_speak() -> None:
    model = ScriptedAssessor(lambda _: [ScorePiece(9.9), EngineUnavailable("broken off")])
    played = await answer(speech(2), silence(3), on=engines(llm=model))
    shown = [score for score in played.of(ev.FeedbackScore) if not score.provisional]
    withdrawn = {event.rev for event in played.of(ev.FeedbackWithdrawn)}
    assert (shown[0].value, shown[0].source) == (9.9, "llm")
    assert shown[0].rev in withdrawn
    assert shown[-1].source == "rules"
    assert shown[-1].rev not in withdrawn
    assert played.outcome is not None
    assert played.outcome.assessment is not None
    assert played.outcome.assessment.source == "rules"


async def test_cancelling_a_session_frees_the_model_and_ends_its_events() -> None:
    model = ScriptedAssessor(lambda _: [5.0])
    played = Played()
    session = AnswerSession(engines(llm=model), brief())
    running = asyncio.create_task(session.run())
    await play(session, speech(2), silence(1.2))
    assert model.open == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert model.open == 0
    async with asyncio.timeout(30):
        async for event in session.events:
            played.events.append(event)
    assert "turn.paused" in played.types


async def test_without_a_recogniser_only_typing_answers() -> None:
    played = Played()
    session = AnswerSession(Engines(voice=None, recognizer=None, llm=None, why_text="no model"), brief())
    hearing = asyncio.create_task(hear(session, played))
    await play(session, speech(1))
    session.answer_in_text(STAR)
    await hearing
    assert played.outcome is not None
    assert played.outcome.transcript == STAR
    assert played.outcome.assessment is not None
    assert played.outcome.assessment.kind == QUESTION.kind
