"""A monotonic clock that a test moves by hand."""

from __future__ import annotations


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s
