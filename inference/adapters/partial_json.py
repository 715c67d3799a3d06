"""Strict JSON, read character by character while it still arrives.

Knows JSON's grammar and its own limits, not what a reply means. Every method of `Characters` is a generator
that waits for the next character by yielding, so a grammar is plain code from top to bottom. `json.loads`
would accept NaN, 1e400, duplicate keys and `true` for a number, and needs the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Literal, TypeVar

T = TypeVar("T")
JsonReason = Literal["invalid", "stalled", "too_long"]
Reading = Generator[None, str, T]

MAX_BLANKS = 80  # a model caught in a loop of blanks writes them until its token limit
MAX_NUMBER_CHARS = 18
_BLANK = " \t\r\n"
_NUMBER_CHARS = "0123456789.+-eE"
_UP_TO_TEN = re.compile(r"(?:10(?:\.0+)?|[0-9](?:\.[0-9]+)?)\Z")
_HEX = "0123456789abcdefABCDEF"
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": " ", "f": " ", "n": "\n", "r": " ", "t": " "}


class JsonError(ValueError):
    """The text can't become a valid reply any more. `reason` is a metric label; no text is kept."""

    def __init__(self, reason: JsonReason = "invalid") -> None:
        super().__init__(reason)
        self.reason: JsonReason = reason


def _is_high(char: str) -> bool:
    return "\ud800" <= char <= "\udbff"


def _is_low(char: str) -> bool:
    return "\udc00" <= char <= "\udfff"


class Characters:
    """The characters of a text that is still arriving."""

    def __init__(self) -> None:
        self._returned = ""

    def take(self) -> Reading[str]:
        if self._returned:
            char, self._returned = self._returned, ""
            return char
        return (yield)

    def put_back(self, char: str) -> None:
        self._returned = char

    def token(self) -> Reading[str]:
        """The next character that is not blank."""
        for _ in range(MAX_BLANKS):
            char = yield from self.take()
            if char not in _BLANK:
                return char
        raise JsonError("stalled")

    def expect(self, wanted: str) -> Reading[None]:
        """One token, then the rest of `wanted` without blanks between."""
        if (yield from self.token()) != wanted[0]:
            raise JsonError
        for expected in wanted[1:]:
            if (yield from self.take()) != expected:
                raise JsonError

    def number(self) -> Reading[float]:
        """A plain decimal from 0 to 10; no sign, no exponent."""
        digits = yield from self.token()
        while True:
            char = yield from self.take()
            if char not in _NUMBER_CHARS:
                break
            digits += char
            if len(digits) > MAX_NUMBER_CHARS:
                raise JsonError
        self.put_back(char)
        if not _UP_TO_TEN.match(digits):
            raise JsonError
        return float(digits)

    def string(self, sink: Callable[[str], None], max_chars: int) -> Reading[None]:
        """A string after its opening quote was taken; each decoded character goes to `sink`."""
        count = blanks = 0
        while (char := (yield from self._unit())) is not None:
            if _is_high(char):
                char = yield from self._pair(char)
            elif _is_low(char):
                raise JsonError
            count += 1
            blanks = blanks + 1 if char.isspace() else 0
            if blanks > MAX_BLANKS:
                raise JsonError("stalled")
            if count > max_chars:
                raise JsonError("too_long")
            sink(char)

    def _unit(self) -> Reading[str | None]:
        """One UTF-16 unit or character of a string; None at its closing quote."""
        char = yield from self.take()
        if char == '"':
            return None
        if char == "\\":
            return (yield from self._escape())
        if char < " ":
            raise JsonError
        return char

    def _escape(self) -> Reading[str]:
        char = yield from self.take()
        if char != "u":
            if char not in _ESCAPES:
                raise JsonError
            return _ESCAPES[char]
        code = ""
        while len(code) < 4:
            char = yield from self.take()
            if char not in _HEX:
                raise JsonError
            code += char
        return chr(int(code, 16))

    def _pair(self, high: str) -> Reading[str]:
        low = yield from self._unit()
        if low is None or not _is_low(low):
            raise JsonError
        return (high + low).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
