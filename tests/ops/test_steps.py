"""A step has the whole limit, and what comes of one that had more time is not written."""

from __future__ import annotations

import pytest

from apps.ops.jobs import JobTimedOut, LeaseLost
from apps.ops.steps import Step


def test_each_step_has_the_whole_limit() -> None:
    now = [0.0]
    step = Step(30.0, lambda: now[0])
    for _ in range(4):
        now[0] += 29.0
        step()
    assert step.left_s == 30.0


def test_a_step_over_its_limit_cannot_be_followed_by_another() -> None:
    now = [0.0]
    step = Step(30.0, lambda: now[0])
    now[0] += 30.5
    assert step.left_s == -0.5
    with pytest.raises(JobTimedOut):
        step()


def test_work_whose_lease_is_gone_hears_of_it_at_its_next_step() -> None:
    step = Step(30.0)
    step.lose()
    with pytest.raises(LeaseLost):
        step()
