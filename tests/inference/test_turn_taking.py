from __future__ import annotations

import pytest

from inference.config import TurnTaking
from inference.turn_taking import ending, patience


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("We had no outage on the next sale day.", "en", "finished"),
        ("Did it work?", "en", "finished"),
        ("I am proud of what we built, but", "en", "hanging"),
        ("I am proud of what we built, but.", "en", "hanging"),  # recognisers like to close a sentence
        ("We tested it, because", "en", "hanging"),
        ("First I profiled it,", "en", "hanging"),
        ("Um...", "en", "hanging"),
        ("We had forty servers in", "en", "hanging"),
        ("and then it went down", "en", "unfinished"),
        ("There was this thing...", "en", "unfinished"),
        ("", "en", "hanging"),
        ("最后平均延迟降到一百二十毫秒。", "zh", "finished"),
        ("我先找到慢查询，然后", "zh", "hanging"),
        ("嗯", "zh", "hanging"),
        ("因为", "zh", "hanging"),
        ("我负责排查，", "zh", "hanging"),
        ("我负责排查", "zh", "unfinished"),
    ],
)
def test_how_an_answer_ends_decides_how_long_we_wait(text: str, language: str, expected: str) -> None:
    assert ending(text, language) == expected  # type: ignore[arg-type]


def test_a_hanging_answer_gets_more_time_on_both_clocks_than_a_finished_one() -> None:
    config = TurnTaking()
    finished = patience("It worked.", "en", config)
    hanging = patience("It worked, but", "en", config)
    assert finished.soft_s < hanging.soft_s
    assert finished.hard_s < hanging.hard_s
    assert (finished.soft_s, finished.hard_s) == (config.soft_s, config.hard_s)
