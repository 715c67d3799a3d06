"""The protocol's proof in small: the whole of it is the fault lab's scenario M."""

from __future__ import annotations

from pytest_django import DjangoDbBlocker

from tests.live.machine.runs import rows, try_runs

RUNS = 300


def test_no_frame_is_lost_and_no_answer_has_two_results(django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock(), rows() as world:
        assert try_runs(world, RUNS) >= RUNS
