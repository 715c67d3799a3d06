"""WebSocket messages of the plainest form, without autobahn's machinery: the rest is left to it.

Plain is a binary message in one masked frame, as audio comes, and a text message down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autobahn.websocket import xormasker

_BINARY_WHOLE = 0x82  # FIN, no extension, binary
_TEXT_WHOLE = 0x81
_MASKED = 0x80
_LENGTH_IN_16 = 126
_LENGTH_IN_64 = 127
_MASK_BYTES = 4
_masks: Any = xormasker  # untyped


@dataclass(frozen=True, slots=True)
class Plain:
    """Where the payload of a plain message lies; `end` may still be beyond what came in."""

    begin: int
    end: int

    def payload(self, data: bytes) -> bytes:
        masker = _masks.create_xor_masker(data[self.begin - _MASK_BYTES : self.begin], self.end - self.begin)
        return bytes(masker.process(data[self.begin : self.end]))


def plain_binary(data: bytes) -> Plain | None:
    """The message that `data` begins with, if it is a plain one and its header is here."""
    if len(data) < 2 + _MASK_BYTES or data[0] != _BINARY_WHOLE or data[1] < _MASKED:
        return None
    length, begin = data[1] - _MASKED, 2 + _MASK_BYTES
    if length >= _LENGTH_IN_16:
        begin += 2
        if length == _LENGTH_IN_64 or len(data) < begin:
            return None
        length = int.from_bytes(data[2:4])
        if length < _LENGTH_IN_16:  # not the shortest form, which is forbidden
            return None
    return Plain(begin, begin + length)


def text_frame(text: bytes) -> bytes:
    """A whole text message as it goes down, unmasked."""
    length = len(text)
    if length < _LENGTH_IN_16:
        return bytes((_TEXT_WHOLE, length)) + text
    if length < 1 << 16:
        return bytes((_TEXT_WHOLE, _LENGTH_IN_16)) + length.to_bytes(2) + text
    return bytes((_TEXT_WHOLE, _LENGTH_IN_64)) + length.to_bytes(8) + text
