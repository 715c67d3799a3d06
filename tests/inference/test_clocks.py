from __future__ import annotations

from collections.abc import Sequence

import pytest

from inference.assessment import QuestionSpec
from inference.clocks import Stroke, TurnClocks
from inference.config import TurnTaking
from inference.endpointing import Heard
from inference.pauses import OwnPauses
from inference.turn_taking import floor_for

CONFIG = TurnTaking()
WHOLE = "We had no outage on the next sale day. " * 3
TICK_S = 0.032


class Turn:
    """A turn on the audio clock: sound and silence as they come, and what struck when."""

    def __init__(self, limit_s: float = 600.0, own: OwnPauses | None = None) -> None:
        self.own = own or OwnPauses()
        question = QuestionSpec("Tell me about a time you solved a hard technical problem.", "en")
        self.clocks = TurnClocks(floor_for(question, self.own, CONFIG), limit_s, None)
        self.at_s = 0.0
        self.speech_end_s: float | None = None
        self.struck: list[tuple[Stroke, float]] = []

    def speech(self, seconds: float) -> Turn:
        self.clocks.speaks(self.at_s, self.speech_end_s)
        return self._pass(seconds, None, speaking=True)

    def silence(self, seconds: float, said: str | None = WHOLE) -> Turn:
        return self._pass(seconds, said, speaking=False)

    def _pass(self, seconds: float, said: str | None, *, speaking: bool) -> Turn:
        until_s = self.at_s + seconds
        while self.at_s < until_s - 1e-9:
            self.at_s = min(until_s, self.at_s + TICK_S)
            self.speech_end_s = self.at_s if speaking else self.speech_end_s
            heard = Heard(self.at_s, self.speech_end_s, speaking)
            self.struck += [(stroke, self.at_s) for stroke in self.clocks.strike(heard, said)]
        return self

    @property
    def strokes(self) -> Sequence[Stroke]:
        return list(dict.fromkeys(stroke for stroke, _ in self.struck))

    def when(self, stroke: Stroke) -> float:
        return next(at_s for one, at_s in self.struck if one == stroke)


def test_a_finished_answer_is_scored_within_a_second_and_the_floor_is_taken_after() -> None:
    turn = Turn().speech(4).silence(3)
    assert turn.strokes == ["soft", "hard"]
    assert turn.when("soft") - 4 < 1.0
    assert turn.when("hard") - 4 == pytest.approx(CONFIG.hard_s, abs=2 * TICK_S)


def test_no_clock_strikes_before_the_words_of_the_pause_are_known() -> None:
    assert Turn().speech(4).silence(3, said=None).strokes == []
    assert Turn().speech(4).silence(3, said="").strokes == []


def test_speech_after_the_soft_commit_reopens_the_turn() -> None:
    turn = Turn().speech(4).silence(1.0)
    assert turn.clocks.paused
    turn.speech(1)
    assert not turn.clocks.paused
    turn.silence(1.0)
    assert [stroke for stroke, _ in turn.struck] == ["soft", "soft"]


def test_thinking_holds_every_clock_for_half_a_minute() -> None:
    turn = Turn().speech(4)
    turn.clocks.think(turn.at_s)
    assert turn.silence(CONFIG.thinking_s - 0.1).strokes == []
    assert turn.silence(0.5).strokes == ["soft", "hard"]


def test_a_key_that_is_held_lets_silence_end_nothing_but_makes_the_score_stand() -> None:
    turn = Turn()
    turn.clocks.hold(True)
    turn.speech(4).silence(0.6, said="and then")
    assert turn.strokes == ["soft"]
    assert turn.silence(20, said="and then").strokes == ["soft"]
    turn.clocks.hold(False)
    assert "hard" in turn.silence(0.1, said="and then").strokes


def test_pauses_within_a_turn_are_learned_and_the_time_before_the_first_word_is_not() -> None:
    turn = Turn().silence(20, said=None).speech(1)
    assert turn.own.count == 0
    turn.silence(0.8, said=None).speech(1).silence(1.2, said=None).speech(1)
    assert turn.own.count == 2
    assert 0.7 < turn.own.mean_s < 1.3


def test_a_silence_that_the_speaker_asked_for_is_no_habit() -> None:
    turn = Turn().speech(1).silence(0.1, said=None)
    turn.clocks.think(turn.at_s)
    turn.silence(20, said=None).speech(1)
    assert turn.own.count == 0


def test_four_minutes_without_a_pause_are_cut_by_no_clock() -> None:
    assert Turn().speech(240).strokes == []


def test_the_end_of_the_time_is_announced_once_before_it_comes() -> None:
    turn = Turn(limit_s=60).speech(59)
    assert [stroke for stroke, _ in turn.struck] == ["time_left"]
    assert turn.when("time_left") == pytest.approx(54, abs=2 * TICK_S)
    assert turn.clocks.left_s == pytest.approx(6)
    assert turn.speech(2).strokes == ["time_left", "time_limit"]


def test_who_says_nothing_for_45_seconds_is_asked_and_as_long_again_ends_the_turn() -> None:
    turn = Turn().silence(44.9, said="")
    assert turn.strokes == []
    assert turn.silence(1, said="").strokes == ["ask"]
    assert turn.silence(43, said="").strokes == ["ask"]
    turn.silence(2, said="")
    assert turn.strokes == ["ask", "nobody"]
    assert turn.when("nobody") == pytest.approx(90, abs=2 * TICK_S)


def test_who_answers_when_asked_has_as_long_again() -> None:
    turn = Turn().silence(46, said="")
    turn.clocks.here(turn.at_s)
    assert turn.silence(44, said="").strokes == ["ask"]
    assert [stroke for stroke, _ in turn.silence(2, said="").struck] == ["ask", "ask"]


def test_speech_answers_the_question_too() -> None:
    turn = Turn().silence(46, said="").speech(1).silence(44, said="")
    assert [stroke for stroke, _ in turn.struck] == ["ask"]
    assert turn.clocks.asked == 0


def test_thinking_is_not_asked_and_what_comes_after_counts_anew() -> None:
    turn = Turn()
    turn.clocks.think(0.0)
    assert turn.silence(CONFIG.thinking_s + 44, said="").strokes == []
    assert turn.silence(2, said="").strokes == ["ask"]
