"""What leaves the server: the event log's order and the outbox's bounds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from apps.live import outbox as outbox_module
from apps.live.close_codes import CloseCode, Refused
from apps.live.consumers import LiveConsumer
from apps.live.eventlog import EventLog
from apps.live.messages import Ack, Nack, ServerHeartbeat
from apps.live.outbox import Outbox
from inference import events as ev
from inference.assessment import Dimension


def partial(text: str, turn: int = 1) -> ev.TranscriptPartial:
    return ev.TranscriptPartial(turn=turn, utterance=1, text=text)


def detail(text: str, dimension: Dimension = "clarity", **fields: Any) -> ev.FeedbackDelta:
    return ev.FeedbackDelta(turn=1, rev=1, part="detail", text=text, dimension=dimension, **fields)


async def taken(outbox: Outbox) -> list[dict[str, Any]]:
    return [json.loads(await outbox.take()) for _ in range(len(outbox))]


async def test_the_newest_partial_takes_the_place_of_one_not_yet_sent() -> None:
    outbox = Outbox()
    for text in ("I", "I led", "I led a"):
        outbox.put(partial(text))
    outbox.put(partial("other", turn=2))
    assert [m["text"] for m in await taken(outbox)] == ["I led a", "other"]


async def test_acknowledgements_and_heartbeats_do_not_pile_up() -> None:
    outbox = Outbox()
    for upto in range(5):
        outbox.put(Ack(answer=1, upto=upto, window=90))
        outbox.put(ServerHeartbeat())
    messages = await taken(outbox)
    assert [m["type"] for m in messages] == ["ack", "heartbeat"]
    assert messages[0]["upto"] == 4


async def test_an_acknowledgement_overtakes_nothing_that_waits() -> None:
    said: list[str] = []
    consumer = LiveConsumer()
    consumer._direct = SimpleNamespace(say=said.append)
    consumer._tell(Ack(answer=1, upto=0, window=90))  # the welcome is not out yet
    consumer._flowing = True
    consumer._tell(Nack(answer=1, from_=1))
    consumer._tell(Ack(answer=1, upto=1, window=90))
    assert said == []
    assert [m["type"] for m in await taken(consumer._outbox)] == ["ack", "nack"]
    consumer._tell(Ack(answer=1, upto=2, window=90))
    assert [json.loads(text)["upto"] for text in said] == [2]
    assert not len(consumer._outbox)


async def test_a_parts_first_piece_never_waits_and_later_ones_are_joined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox_module, "PIECE_EVERY_S", 2.0)  # what waiting would cost
    outbox = Outbox()
    began = time.monotonic()
    outbox.put(detail("You ", value=6.0, quotes=("q",)))
    first = json.loads(await outbox.take())
    outbox.put(detail("spoke "))
    outbox.put(detail("clearly."))
    outbox.put(detail("Next", dimension="evidence"))
    waited_from = time.monotonic()
    assert waited_from - began < outbox_module.PIECE_EVERY_S
    second, third = json.loads(await outbox.take()), json.loads(await outbox.take())
    assert [m["text"] for m in (first, second, third)] == ["You ", "spoke clearly.", "Next"]
    assert time.monotonic() - began >= outbox_module.PIECE_EVERY_S
    assert (first["value"], first["quotes"]) == (6.0, ["q"])


@pytest.mark.parametrize("last", ["joined", "followed"])
async def test_to_a_page_far_away_a_piece_goes_once_nothing_more_can_join_it(
    last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "JOIN_WITHIN_S", 600.0)  # what waiting for more would cost
    outbox = Outbox()
    outbox.rtt_s = 0.3
    outbox.put(detail("You "))
    await outbox.take()
    outbox.put(detail("spoke "))
    taking = asyncio.create_task(outbox.take())
    await asyncio.sleep(0.05)
    assert not taking.done()
    outbox.put(detail("very "))
    outbox.put(detail("clearly.") if last == "joined" else ev.AnswerOpened(turn=2))
    async with asyncio.timeout(60):
        text = json.loads(await taking)["text"]
    assert text == ("spoke very clearly." if last == "joined" else "spoke very ")


async def test_text_that_comes_all_at_once_still_grows_in_small_steps() -> None:
    outbox = Outbox()
    for number in range(30):
        outbox.put(detail(f"w{number} "))
    began = time.monotonic()
    texts = [message["text"] for message in await taken(outbox)]
    assert len(texts) == 10
    assert "".join(texts) == "".join(f"w{number} " for number in range(30))
    assert time.monotonic() - began < 10  # not a pause for each word or a second for each step


async def test_a_long_backlog_is_joined_without_limit() -> None:
    outbox = Outbox(capacity=80)
    for number in range(2_000):
        outbox.put(detail(f"{number} "))
    assert len(outbox) < 80


async def test_a_full_outbox_gives_partials_up_and_then_the_reader() -> None:
    outbox = Outbox(capacity=3)
    outbox.put(partial("a"))
    for turn in (1, 2, 3):
        outbox.put(ev.AnswerOpened(turn=turn))
    assert outbox.dropped == 1
    with pytest.raises(Refused) as refused:
        outbox.put(ev.AnswerOpened(turn=4))
    assert refused.value.code == CloseCode.RATE


class Rows:
    """A store that numbers events and can be made slow."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.rows: list[ev.Event] = []
        self.delay_s = delay_s

    async def store(self, events: Sequence[ev.Event]) -> Sequence[ev.Event]:
        await asyncio.sleep(self.delay_s)
        first = len(self.rows) + 1
        numbered = [event.model_copy(update={"eid": eid}) for eid, event in enumerate(events, first)]
        self.rows += numbered
        return numbered


FEEDBACK: tuple[ev.Event, ...] = (
    ev.FeedbackStarted(turn=1, rev=1, provisional=False),
    ev.FeedbackScore(turn=1, rev=1, value=6.0, grade="B", provisional=False, source="rules"),
    ev.FeedbackDelta(turn=1, rev=1, part="weakness", text="Name "),
    ev.FeedbackDelta(turn=1, rev=1, part="weakness", text="the result."),
    detail("", value=5.0, quotes=("forty percent",)),
    detail("Clear "),
    detail("enough."),
    detail("", "evidence", value=7.0),
    detail("A figure.", "evidence"),
    ev.FeedbackDone(turn=1, rev=1, outcome="complete"),
)


async def logged(events: Sequence[ev.Event], delay_s: float = 0.0) -> tuple[Rows, list[ev.Event]]:
    rows, shown = Rows(delay_s), list[ev.Event]()
    log = EventLog(rows.store, shown.append)
    writing = asyncio.create_task(log.run())
    for event in events:
        log.put(event)
        await asyncio.sleep(0)
    await log.settle()
    writing.cancel()
    return rows, shown


@pytest.mark.parametrize("delay_s", [0.0, 0.01])
async def test_events_are_shown_in_order_and_stored_ones_before_they_are_shown(delay_s: float) -> None:
    _, shown = await logged(FEEDBACK, delay_s)
    assert [e.model_copy(update={"eid": 0}) for e in shown] == list(FEEDBACK)
    eids = [e.eid for e in shown if isinstance(e, ev.DURABLE)]
    assert eids == sorted(eids)
    assert 0 not in eids


async def test_growing_text_is_stored_once_and_whole() -> None:
    rows, _ = await logged(FEEDBACK)
    deltas = [row for row in rows.rows if isinstance(row, ev.FeedbackDelta)]
    assert [(d.part, d.dimension, d.text, d.value) for d in deltas] == [
        ("weakness", None, "Name the result.", None),
        ("detail", "clarity", "Clear enough.", 5.0),
        ("detail", "evidence", "A figure.", 7.0),
    ]
    assert deltas[1].quotes == ("forty percent",)
    assert [row.type for row in rows.rows][-1] == "feedback.done"


async def test_partials_are_shown_and_never_stored() -> None:
    rows, shown = await logged([partial("I led"), ev.SpeechStarted(turn=1, at_s=0.1)])
    assert len(shown) == 2
    assert rows.rows == []


async def test_a_store_that_is_superseded_ends_the_log() -> None:
    async def refuse(events: Sequence[ev.Event]) -> Sequence[ev.Event]:
        raise PermissionError

    log = EventLog(refuse, lambda event: None)
    log.put(ev.AnswerOpened(turn=1))
    with pytest.raises(PermissionError):
        await log.run()
