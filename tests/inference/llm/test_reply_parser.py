"""The incremental parser by itself: how a text is cut never changes what it means."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import groupby, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference.adapters.llm_reply import (
    CommentText,
    ReplyEvent,
    ReplyParser,
    ScoreRead,
    WeaknessClosed,
    WeaknessText,
)
from inference.adapters.partial_json import JsonError
from tests.inference.llm.support import CHINESE_REPLY, GOOD, UP_TO_SCORE, as_json, reply

UNHURRIED = settings(deadline=None)  # a busy machine is not a slow parser


def joined(events: list[ReplyEvent]) -> list[object]:
    """Events with neighbouring prose put together."""
    out: list[object] = []
    for key, group in groupby(
        events, key=lambda e: (type(e), e.dimension if isinstance(e, CommentText) else "")
    ):
        same = list(group)
        texts = [event.text for event in same if isinstance(event, WeaknessText | CommentText)]
        out += [(*key, "".join(texts))] if texts else same
    return out


def parsed(text: str, cuts: list[int]) -> list[object]:
    parser = ReplyParser()
    events: list[ReplyEvent] = []
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    for start, end in pairwise(edges):
        events += parser.feed(text[start:end])
    assert parser.complete
    return joined(events)


@UNHURRIED
@given(
    st.sampled_from([GOOD, as_json(CHINESE_REPLY), json.dumps(CHINESE_REPLY)]),
    st.lists(st.integers(0, 5_000), max_size=60),
)
def test_any_cut_of_the_text_gives_the_same_reply(text: str, cuts: list[int]) -> None:
    assert parsed(text, cuts) == parsed(text, [])


@UNHURRIED
@given(st.integers(0, len(GOOD) - 1), st.integers(1, 6))
def test_no_cut_end_of_a_reply_is_complete(end: int, size: int) -> None:
    parser = ReplyParser()
    for start in range(0, end, size):
        parser.feed(GOOD[start : min(start + size, end)])
    assert not parser.complete


@UNHURRIED
@given(st.floats(0, 10).map(lambda value: round(value, 3)))
def test_every_score_from_0_to_10_is_read_as_one_decimal(value: float) -> None:
    events = ReplyParser().feed(f'{{"score": {value:.3f}, "weakness": ')
    assert events == [ScoreRead(round(float(f"{value:.3f}"), 1))]


@UNHURRIED
@given(st.text(max_size=300))
def test_any_weakness_that_json_can_carry_is_read_or_refused_cleanly(weakness: str) -> None:
    parser = ReplyParser()
    try:
        events = parser.feed(as_json(reply(weakness=weakness)))
    except JsonError:
        return
    assert WeaknessClosed() in events
    assert parser.complete


@UNHURRIED
@given(st.text(max_size=200))
def test_any_text_at_all_is_read_or_refused_cleanly(text: str) -> None:
    parser = ReplyParser()
    with suppress(JsonError):
        parser.feed(text)
    assert not parser.complete


def test_the_score_is_out_before_the_weakness_begins() -> None:
    assert ReplyParser().feed(UP_TO_SCORE) == [ScoreRead(7.5)]


def test_the_weakness_is_given_out_while_it_grows() -> None:
    parser = ReplyParser()
    parser.feed(UP_TO_SCORE)
    assert parser.feed('"You say') == [WeaknessText("You say")]
    assert parser.feed(" what") == [WeaknessText(" what")]


def test_a_hundred_thousand_brackets_do_not_exhaust_the_stack() -> None:
    with pytest.raises(JsonError):
        ReplyParser().feed(UP_TO_SCORE + '"x", "dimensions": ' + "{" * 100_000)


def test_a_long_thought_is_read_in_linear_time() -> None:
    parser = ReplyParser()
    parser.feed("<think>" + "hm " * 20_000)
    assert not parser.begun
    parser.feed("</think>" + GOOD)
    assert parser.complete
