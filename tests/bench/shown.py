"""What a page shows of one answer while it is spoken, ours or a peer's."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.bench.recordings import Recording
from tests.inference.spoken import said

TAIL_S = 6.0  # of silence: whatever has not come by then never came
LAST_WORDS = 2


@dataclass
class Shown:
    """The words on one page as they grew: (seconds after the end of speech, all text on it)."""

    recording: Recording
    texts: list[tuple[float, str]] = field(default_factory=list)

    def last_word_s(self) -> float | None:
        """When the last words were first there, as they stayed. None: they never came."""
        if not self.texts:
            return None
        final = said(self.texts[-1][1])
        if said(self.recording.text)[-1] not in final[-LAST_WORDS:]:
            return None
        last = final[-LAST_WORDS:]
        return next(at_s for at_s, text in self.texts if said(text)[-LAST_WORDS:] == last)
