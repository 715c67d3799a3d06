"""Why a socket was closed and whether the page should try again: the one table for both sides."""

from __future__ import annotations

from enum import IntEnum


class CloseCode(IntEnum):
    """Codes of the live socket (RFC 6455 leaves 4000-4999 to applications)."""

    RESTART = 1012
    ERROR = 1011
    IDLE = 4000
    BAD_FRAME = 4400
    UNAUTHENTICATED = 4401
    NO_CONSENT = 4403
    RATE = 4408
    SUPERSEDED = 4409
    TOO_LONG = 4413
    FULL = 4429


# A lost connection without a close frame (1006) is retried too; it never reaches this table.
RETRY: dict[CloseCode, bool] = {
    CloseCode.RESTART: True,
    CloseCode.ERROR: True,
    CloseCode.IDLE: True,
    CloseCode.BAD_FRAME: False,
    CloseCode.UNAUTHENTICATED: False,
    CloseCode.NO_CONSENT: False,
    CloseCode.RATE: True,
    CloseCode.SUPERSEDED: False,
    CloseCode.TOO_LONG: False,
    CloseCode.FULL: True,
}


class Refused(Exception):  # noqa: N818 - a verdict on the other side, not an error of ours
    """The socket must be closed with `code`. `why` is for the log and holds nothing a person said."""

    def __init__(self, code: CloseCode, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why
