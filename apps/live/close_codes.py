"""Why a socket was closed and whether the page should try again: the one table for both sides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

DRAIN_SPREAD_MS = 5_000


class CloseCode(IntEnum):
    """Codes of the live socket (RFC 6455 leaves 4000-4999 to applications)."""

    TOO_BIG = 1009
    ERROR = 1011
    RESTART = 1012
    IDLE = 4000
    BAD_FRAME = 4400
    UNAUTHENTICATED = 4401
    NO_CONSENT = 4403
    RATE = 4408
    SUPERSEDED = 4409
    TOO_LONG = 4413
    FULL = 4429


@dataclass(frozen=True, slots=True)
class CloseRule:
    """Whether the page comes back, and over how long a crowd of pages should spread its return."""

    retry: bool
    spread_ms: int = 0


# A lost connection without a close frame (1006) is retried too; it never reaches this table.
CLOSE_TABLE: dict[CloseCode, CloseRule] = {
    CloseCode.TOO_BIG: CloseRule(retry=False),
    CloseCode.ERROR: CloseRule(retry=True),
    CloseCode.RESTART: CloseRule(retry=True, spread_ms=DRAIN_SPREAD_MS),
    CloseCode.IDLE: CloseRule(retry=True),
    CloseCode.BAD_FRAME: CloseRule(retry=False),
    CloseCode.UNAUTHENTICATED: CloseRule(retry=False),
    CloseCode.NO_CONSENT: CloseRule(retry=False),
    CloseCode.RATE: CloseRule(retry=True),
    CloseCode.SUPERSEDED: CloseRule(retry=False),
    CloseCode.TOO_LONG: CloseRule(retry=False),
    CloseCode.FULL: CloseRule(retry=True, spread_ms=DRAIN_SPREAD_MS),
}


class Refused(Exception):  # noqa: N818 - a verdict on the other side, not an error of ours
    """The socket must be closed with `code`. `why` is for the log and holds nothing a person said."""

    def __init__(self, code: CloseCode, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why
