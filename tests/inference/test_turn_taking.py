from __future__ import annotations

import pytest

from inference.assessment import QuestionSpec
from inference.config import TurnTaking
from inference.pauses import OwnPauses
from inference.turn_taking import Floor, ending, floor_for, word_count

CONFIG = TurnTaking()
STORY = QuestionSpec("Tell me about a time you solved a hard technical problem.", "en")
YES_NO = QuestionSpec("Have you managed people before?", "en")
WHOLE = "We had no outage on the next sale day. " * 3


def floor(question: QuestionSpec = STORY, *pauses_s: float) -> Floor:
    own = OwnPauses()
    for pause_s in pauses_s:
        own.went_on(pause_s)
    return floor_for(question, own, CONFIG)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We had no outage on the next sale day.", "finished"),
        ("Did it work?", "finished"),
        ("I am proud of what we built, but", "hanging"),
        ("I am proud of what we built, but.", "hanging"),  # recognisers like to close a sentence
        ("We tested it, because", "hanging"),
        ("First I profiled it,", "hanging"),
        ("Um...", "hanging"),
        ("It was hard, you know.", "hanging"),
        ("We used several tools, for example.", "hanging"),
        ("We had forty servers in", "hanging"),
        ("and then it went down", "unfinished"),
        ("There was this thing...", "unfinished"),
        ("When the servers went down.", "unfinished"),
        ("When the servers went down, we moved.", "finished"),
        ("First I profiled the hot path.", "unfinished"),
        ("First I profiled it, then I cached the catalogue.", "finished"),
        ("We used Kafka, Redis, Celery.", "unfinished"),
        ("We used Kafka, Redis, and Celery.", "finished"),
        ("", "hanging"),
        ("最后平均延迟降到一百二十毫秒。", "finished"),
        ("我先找到慢查询，然后", "hanging"),
        ("我先找到慢查询。然后。", "hanging"),
        ("嗯", "hanging"),
        ("我觉得 emmm", "hanging"),
        ("因为", "hanging"),
        ("我负责排查，", "hanging"),
        ("我负责排查", "unfinished"),
        ("当数据库变慢的时候。", "unfinished"),
        ("首先我看了日志。", "unfinished"),
        ("我们用了 Kafka、Redis、Celery。", "unfinished"),
        ("我们用了 Kafka、Redis 和 Celery。", "finished"),
    ],
)
def test_how_an_answer_ends_decides_how_long_we_wait(text: str, expected: str) -> None:
    assert ending(text) == expected


def test_a_hanging_answer_gets_more_time_on_both_clocks_than_a_finished_one() -> None:
    finished, hanging = floor().patience(WHOLE), floor().patience(f"{WHOLE} But")
    assert finished.soft_s < hanging.soft_s
    assert finished.hard_s < hanging.hard_s
    assert (finished.soft_s, finished.hard_s) == (CONFIG.soft_s, CONFIG.hard_s)


@pytest.mark.parametrize(
    "text", ["I profiled the hot path", "I profiled it, but", "我负责排查", "嗯", "我觉得 emmm…"]
)
def test_a_pause_for_thought_in_mid_sentence_may_last_two_and_a_half_seconds(text: str) -> None:
    assert floor().patience(text).hard_s > 2.5


def test_a_finished_sentence_makes_the_score_stand_within_a_second() -> None:
    assert floor().patience(WHOLE).soft_s < 1.0


def test_one_sentence_is_hardly_a_whole_story_but_may_answer_yes_or_no() -> None:
    assert floor(STORY).patience("It was a hard one.").hard_s == CONFIG.hard_early_s
    assert floor(YES_NO).patience("No, I have not.").hard_s == CONFIG.hard_s


def test_who_pauses_for_long_and_goes_on_is_waited_for_longer_within_bounds() -> None:
    quick, slow = floor(STORY, 0.3, 0.4, 0.3, 0.4), floor(STORY, 1.2, 1.8, 0.6, 2.0)
    assert quick.patience(WHOLE).hard_s == CONFIG.hard_s
    assert slow.patience(WHOLE).hard_s == CONFIG.hard_unfinished_s
    assert CONFIG.soft_s < slow.patience(WHOLE).soft_s <= CONFIG.soft_unfinished_s


def test_one_long_pause_makes_no_habit_and_breaths_are_no_pauses() -> None:
    assert floor(STORY, 3.0).patience(WHOLE).hard_s == CONFIG.hard_s
    own = OwnPauses()
    for _ in range(10):
        own.went_on(0.15)
    assert own.count == 0


def test_the_mean_follows_the_speaker_and_one_endless_pause_does_not_carry_it_away() -> None:
    own = OwnPauses()
    for pause_s in (0.5, 0.5, 0.5, 30.0):
        own.went_on(pause_s)
    assert own.mean_s < 1.5
    for _ in range(20):
        own.went_on(0.5)
    assert abs(own.mean_s - 0.5) < 0.05


def test_a_model_of_turns_is_believed_when_it_is_sure_and_never_shortens_the_last_clock() -> None:
    rules = floor().patience(WHOLE)
    assert floor().patience(WHOLE, over=0.5) == rules
    assert floor().patience(WHOLE, over=0.99) == rules
    assert floor().patience(WHOLE, over=0.01).hard_s == CONFIG.hard_unfinished_s
    open_sentence = floor().patience("I profiled the hot path")
    assert floor().patience("I profiled the hot path", over=0.99).soft_s < open_sentence.soft_s
    assert floor().patience("I profiled the hot path", over=0.99).hard_s == open_sentence.hard_s


def test_words_are_counted_in_both_languages() -> None:
    assert word_count("We used Kafka.") == 3
    assert word_count("我们用了 Kafka。") == pytest.approx(3.4)
