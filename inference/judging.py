"""Which reading of an answer stands: a sketch at a pause, a whole one from the soft commit on.

Knows the judge, not why a reading is wanted.
"""

from __future__ import annotations

import asyncio

from inference import events as ev
from inference.assessment import Answer, Assessment
from inference.feedback import Judge


class Judging:
    """At most one reading runs. `answer` is what the last one reads, None when that was taken back."""

    def __init__(self, judge: Judge) -> None:
        self.answer: Answer | None = None
        self._judge = judge
        self._running: asyncio.Task[Assessment] | None = None

    def sketch(self, answer: Answer) -> None:
        """Show by the rules where the answer stands."""
        self.withdraw()
        self.answer = answer
        self._judge.sketch(answer)

    def begin(self, answer: Answer) -> None:
        """A sketch of these very words, or what an earlier session showed, stays until it is replaced."""
        if self._running is not None or (self.answer is not None and self.answer.text != answer.text):
            self.withdraw()
        self.answer = answer
        self._running = asyncio.create_task(self._judge.judge(answer), name=f"judge {self._judge.turn}")

    def withdraw(self) -> None:
        """What was shown no longer covers the answer."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
        self.answer = None
        self._judge.withdraw()

    async def reading(self, answer: Answer) -> Assessment:
        """The one of the whole answer: that which was begun, if nothing has changed since."""
        if self._running is None or self.answer != answer:
            self.begin(answer)
        assert self._running is not None  # noqa: S101 - begun
        return await self._running

    def unscored(self, *, low_confidence: bool) -> ev.Outcome:
        self.withdraw()
        self._judge.leave_unscored(low_confidence=low_confidence)
        return "unscored"

    async def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
