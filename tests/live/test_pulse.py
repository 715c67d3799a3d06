"""Signs of life, without a clock: what the ticks say has passed is what has passed."""

from __future__ import annotations

import pytest

from apps.live.close_codes import CloseCode, Refused
from apps.live.outbox import piece_wait_s
from apps.live.pulse import Pulse


def test_heartbeats_come_at_once_and_then_every_five_seconds() -> None:
    pulse = Pulse(idle_s=100, heartbeat_s=5)
    beats = [pulse.tick(1.0) for _ in range(11)]
    assert [beat.n if beat else 0 for beat in beats] == [1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3]


def test_a_silent_page_is_given_up_after_thirty_seconds_and_a_talking_one_never() -> None:
    pulse = Pulse(idle_s=30, heartbeat_s=5)
    for second in range(200):
        pulse.tick(1.0)
        if second % 25 == 0:
            pulse.heard()
    pulse.heard()
    for _ in range(29):
        pulse.tick(1.0)
    with pytest.raises(Refused) as refused:
        pulse.tick(1.0)
    assert refused.value.code == CloseCode.IDLE


def test_only_the_echo_of_the_last_heartbeat_tells_the_round_trip() -> None:
    pulse = Pulse(idle_s=30, heartbeat_s=5)
    assert pulse.echoed(0) is None
    for _ in range(6):
        pulse.tick(1.0)
    assert pulse.echoed(None) is None
    assert pulse.echoed(1) is None
    assert pulse.echoed(2) is not None


@pytest.mark.parametrize(
    ("since_last_s", "since_first_s", "wait_s"), [(0.0, 0.0, 0.02), (0.015, 0.0, 0.005), (0.02, 0.0, 0.0)]
)
def test_near_by_each_piece_goes_at_once_fifty_a_second(
    since_last_s: float, since_first_s: float, wait_s: float
) -> None:
    waits = piece_wait_s(rtt_s=0.1, since_last_s=since_last_s, since_first_s=since_first_s)
    assert waits == pytest.approx(wait_s)


@pytest.mark.parametrize(
    ("since_first_s", "wait_s"),
    [
        (0.0, 0.05),  # alone: fifty milliseconds for others to join it
        (0.04, 0.01),
        (0.06, -0.01),
        (None, 0.0),  # three are joined, or something else follows: nothing to wait for
    ],
)
def test_far_away_a_piece_waits_for_two_more_or_fifty_milliseconds(
    since_first_s: float | None, wait_s: float
) -> None:
    waits = piece_wait_s(rtt_s=0.2, since_last_s=0.02, since_first_s=since_first_s)
    assert waits == pytest.approx(max(wait_s, 0.0))
