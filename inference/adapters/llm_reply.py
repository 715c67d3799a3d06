"""The grammar of an LLM's reply (schemas.py), turned into events while the text arrives.

Knows the order and limits of the parts, not whether they are true of the answer. Everything that JSON allows
and the schema doesn't (other keys, other order, deep nests, literals) is an error by construction.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from inference.adapters.partial_json import Characters, JsonError, Reading
from inference.assessment import DIMENSIONS, Dimension

MAX_SENTENCE_CHARS = 400
MAX_QUOTE_CHARS = 400
MAX_QUOTES = 6
_THINK_END = "</think>"


@dataclass(frozen=True, slots=True)
class ScoreRead:
    value: float


@dataclass(frozen=True, slots=True)
class WeaknessText:
    text: str


@dataclass(frozen=True, slots=True)
class WeaknessClosed:
    pass


@dataclass(frozen=True, slots=True)
class DimensionRead:
    """Value and quotes of one dimension; its comment follows."""

    dimension: Dimension
    value: float
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommentText:
    dimension: Dimension
    text: str


@dataclass(frozen=True, slots=True)
class FollowUpRead:
    text: str


ReplyEvent = ScoreRead | WeaknessText | WeaknessClosed | DimensionRead | CommentText | FollowUpRead


def shown(char: str) -> str:
    """A character as it may be shown: line breaks become spaces, invisible and direction marks go."""
    if char.isspace():
        return " "
    return "" if unicodedata.category(char)[0] == "C" else char


class ReplyParser:
    """Fed with text as it comes; what it returns is closed or, for prose, as far as it has come."""

    def __init__(self) -> None:
        self._events: list[ReplyEvent] = []
        self._prose = ""
        self._as_event: Callable[[str], ReplyEvent] | None = None
        self._input = Characters()
        self._run = self._reply()
        self.begun = False
        self.complete = False
        next(self._run)

    def feed(self, text: str) -> list[ReplyEvent]:
        """Events of this text. Raises JsonError. What follows a complete object is ignored."""
        for char in text:
            if self.complete:
                break
            try:
                self._run.send(char)
            except StopIteration:
                self.complete = True
        self._flush()
        events, self._events = self._events, []
        return events

    def _flush(self) -> None:
        if self._prose and self._as_event:
            self._events.append(self._as_event(self._prose))
        self._prose = ""

    def _reply(self) -> Reading[None]:
        yield from self._opening()
        self.begun = True
        yield from self._key("score", first=True)
        score = yield from self._input.number()
        yield from self._key("weakness")
        # Only here, a token later: a second "score" would otherwise take back what is on the page already.
        self._events.append(ScoreRead(round(score, 1)))
        yield from self._growing(WeaknessText)
        self._events.append(WeaknessClosed())
        yield from self._key("dimensions")
        yield from self._dimensions()
        yield from self._key("follow_up")
        follow_up = yield from self._text(MAX_SENTENCE_CHARS)
        self._events.append(FollowUpRead(follow_up))
        yield from self._input.expect("}")

    def _opening(self) -> Reading[None]:
        """Up to the brace of the object: a thought and a code fence may stand before it."""
        char = yield from self._input.token()
        if char not in "{`\ufeff":
            # Some templates open the thought themselves, so its text may come without "<think>".
            yield from self._thought()
            char = yield from self._input.token()
        if char == "\ufeff":
            char = yield from self._input.token()
        if char == "`":
            yield from self._input.expect("``")
            while (char := (yield from self._input.token())).isalpha():
                pass
        if char != "{":
            raise JsonError

    def _thought(self) -> Reading[None]:
        tail = ""
        while tail != _THINK_END:
            char = yield from self._input.take()
            tail = (tail + char)[-len(_THINK_END) :]

    def _key(self, name: str, *, first: bool = False) -> Reading[None]:
        if not first:
            yield from self._input.expect(",")
        yield from self._input.expect(f'"{name}"')
        yield from self._input.expect(":")

    def _dimensions(self) -> Reading[None]:
        yield from self._input.expect("{")
        for index, name in enumerate(DIMENSIONS):
            yield from self._key(name, first=index == 0)
            yield from self._dimension(name)
        yield from self._input.expect("}")

    def _dimension(self, name: Dimension) -> Reading[None]:
        yield from self._input.expect("{")
        yield from self._key("value", first=True)
        value = yield from self._input.number()
        yield from self._key("quotes")
        quotes = yield from self._quotes()
        yield from self._key("comment")
        self._events.append(DimensionRead(name, round(value, 1), quotes))
        yield from self._growing(lambda text: CommentText(name, text))
        yield from self._input.expect("}")

    def _quotes(self) -> Reading[tuple[str, ...]]:
        yield from self._input.expect("[")
        char = yield from self._input.token()
        quotes: list[str] = []
        while char != "]":
            self._input.put_back(char)
            quotes.append((yield from self._text(MAX_QUOTE_CHARS)))
            char = yield from self._input.token()
            if len(quotes) > MAX_QUOTES or char not in ",]":
                raise JsonError
            if char == ",":
                char = yield from self._input.token()
                if char == "]":
                    raise JsonError
        return tuple(quotes)

    def _text(self, max_chars: int) -> Reading[str]:
        """A whole string, as it was written."""
        parts: list[str] = []
        yield from self._input.expect('"')
        yield from self._input.string(parts.append, max_chars)
        return "".join(parts)

    def _growing(self, as_event: Callable[[str], ReplyEvent]) -> Reading[None]:
        """A string whose text is given out while it grows. One without text is an error."""
        seen = False

        def grow(char: str) -> None:
            nonlocal seen
            visible = shown(char)
            seen = seen or bool(visible.strip())
            self._prose += visible

        yield from self._input.expect('"')
        self._as_event = as_event
        yield from self._input.string(grow, MAX_SENTENCE_CHARS)
        self._flush()
        if not seen:
            raise JsonError
