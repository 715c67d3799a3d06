"""The benchmark's own arithmetic: what it says of a run must be true of it."""

from __future__ import annotations

import math
import os
import time

from inference import events as ev
from inference.audio import WINDOW_BYTES, WINDOW_S
from tests.bench.accuracy import Side
from tests.bench.cutoffs import by_rule, share, verdict
from tests.bench.end_of_speech import Marks, takes_of
from tests.bench.figures import Neighbours, Row, Table, cpu_s, percentile
from tests.bench.recordings import Recording
from tests.bench.shown import Shown
from tests.bench.voice import silence_ends, windows

ANSWER = Recording("a", "spoken", "en", "Why?", "Because it was there.", (), b"", speech_end_s=2.0)


def test_p95_of_ten_is_the_largest_and_of_a_hundred_the_96th() -> None:
    assert percentile([float(n) for n in range(10, 0, -1)], 0.95) == 10.0
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 96.0
    assert Row("r", [3.0, 1.0, 2.0, 4.0], "s").p50 == 2.5


def test_a_goal_is_missed_by_its_median_by_its_p95_or_by_being_too_small() -> None:
    samples = [1.0] * 8 + [5.0, 9.0]
    assert Row("r", samples, "s", goal=1.0, goal_p95=9.0).holds
    assert not Row("r", samples, "s", goal=0.9).holds
    assert not Row("r", samples, "s", goal_p95=8.0).holds
    assert not Row("r", samples, "", goal=2.0, at_least=True).holds
    assert "MISSED" in str(Table("t", [Row("r", samples, "s", goal=0.9)]))
    assert not Table("t", [Row("r", samples, "s", goal=0.9)]).holds


def test_nothing_measured_holds_no_goal_and_is_null_in_json() -> None:
    empty = Row("r", [], "s", goal=1.0)
    assert not empty.holds
    assert math.isnan(empty.p50)
    assert Table("t", [empty]).plain()["rows"][0]["p50"] is None
    assert "nothing measured" in str(empty)


def test_what_this_process_does_is_not_put_down_to_others() -> None:
    neighbours, used = Neighbours(), cpu_s(os.getpid())
    limit = time.monotonic() + 60
    while cpu_s(os.getpid()) - used < 0.3 and time.monotonic() < limit:
        sum(range(10_000))
    busy_s = sum(now - before for now, before in zip(_seen(), neighbours._began[:2], strict=True))
    assert busy_s > 0.3
    assert (
        neighbours.share() * (os.cpu_count() or 1) * (time.monotonic() - neighbours._began[2]) < busy_s - 0.2
    )
    assert "other processes took" in neighbours.note()


def _seen() -> tuple[float, float]:
    from tests.bench.figures import _busy_s, _ours_s

    return _busy_s(), _ours_s()


def test_the_last_word_is_there_once_the_text_ends_as_it_stays() -> None:
    shown = Shown(
        ANSWER, [(-0.5, "Because it"), (0.2, "Because it was there"), (0.6, "Because it was there.")]
    )
    assert shown.last_word_s() == 0.2


def test_a_last_word_that_is_put_right_later_counts_from_then() -> None:
    shown = Shown(ANSWER, [(0.2, "Because it was fair."), (1.4, "Because it was there.")])
    assert shown.last_word_s() == 1.4


def test_a_last_word_that_never_came_is_not_counted_as_early() -> None:
    assert Shown(ANSWER, [(0.2, "Because it was")]).last_word_s() is None
    assert Shown(ANSWER).last_word_s() is None


def test_content_before_the_last_word_does_not_count() -> None:
    marks = Marks(Shown(ANSWER))
    for at_s, event in (
        (-1.0, ev.TranscriptPartial(turn=1, utterance=1, text="Because it")),
        (-0.9, _score(1)),
        (0.4, ev.TranscriptFinal(turn=1, utterance=1, text="Because it was there.", start_s=0, end_s=2)),
        (0.5, _score(2)),
        (0.8, ev.TurnPaused(turn=1, at_s=2.7, speech_end_s=2.0)),
        (2.1, ev.TurnEnded(turn=1, reason="silence", at_s=4.0, speech_end_s=2.0)),
    ):
        marks.add(at_s, event)
    assert (marks.shown.last_word_s(), marks.content_s) == (0.4, 0.5)
    assert (marks.soft_s, marks.hard_s, marks.cut_off) == (0.8, 2.1, False)


def _score(rev: int) -> ev.FeedbackScore:
    return ev.FeedbackScore(turn=1, rev=rev, value=5.0, grade="C", provisional=True, source="rules")


def test_each_number_of_sessions_has_the_same_speakers_in_every_run() -> None:
    assert takes_of(4, 0) == takes_of(4, 0)
    assert len({take.recording.id for take in takes_of(4, 0)}) == 4
    assert [take.starts_s for take in takes_of(1, 0)] == [0.0]


def test_a_clock_that_strikes_before_the_end_cuts_off_and_the_first_behind_it_counts() -> None:
    early = verdict([1.0, 2.5, 4.0], end_s=2.0)
    assert early.cut_off
    assert early.delay_s == 0.5
    assert verdict([1.95], end_s=2.0).cut_off is False  # the last sound is fainter than what is heard
    assert verdict([], end_s=2.0).delay_s is None
    assert share([early, verdict([2.1], 2.0), verdict([2.2], 2.0), verdict([2.3], 2.0)]) == 25.0


def test_a_rule_of_silence_waits_for_voice_then_for_silence() -> None:
    scores = [0.1] * 20 + [0.9] * 20 + [0.1] * 5 + [0.9] * 20 + [0.1] * 40
    assert silence_ends(scores, 5 * WINDOW_S) == 45 * WINDOW_S
    assert silence_ends(scores, 10 * WINDOW_S) == 75 * WINDOW_S
    assert silence_ends([0.1] * 50, 5 * WINDOW_S) is None
    cut_off = by_rule([ANSWER], {"a": scores}, 5 * WINDOW_S)[0]
    assert cut_off.early == (45 * WINDOW_S,)


def test_the_last_window_is_filled_with_silence() -> None:
    assert [len(window) for window in windows(b"\1" * (WINDOW_BYTES + 2))] == [WINDOW_BYTES, WINDOW_BYTES]


def test_errors_are_pooled_over_clips_and_loops_are_found() -> None:
    side = Side("cut window")
    side.add(ANSWER, "Because it was fair.")
    side.add(ANSWER, "Because it was there.")
    assert side.rate("en") == 12.5
    assert (side.count("en"), side.wrong("en"), side.loops) == (8, 1, [])
    side.add(ANSWER, "it was there " * 6)
    assert len(side.loops) == 1
