"""Text from people, made fit for a prompt: nothing in it can look like a part of the prompt.

For the model only: what is stored and shown stays as it was said. Remembers where each character came from,
so that a quote of the cleaned text can be given back in the speaker's own characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_OURS = -1  # a character that no one said
_CUT = " […] "

# Compatibility folding would turn these into ASCII, though they are plain Chinese writing.
_KEPT = frozenset("，！？；：（）")
# Invisible characters outside the categories C and Z: fillers, joiners, blank braille, variation selectors.
_HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

_TAG_OPENS = re.compile(r"<(?=[|/!<A-Za-z_])")
_TOKEN_CLOSES = re.compile(r"\|(?=>)")
_BRACKETED = re.compile(r"\[(?=/?[A-Za-z_]{3,}\])")
_ROLE = re.compile(
    r"((?:\b(?:system|assistant|user|human|developer|tool|model|ai)\b|系统|系統|助手|用户|用戶|开发者|開發者)"
    r"(?:通知|消息|提示|指令|message|prompt)?[\s*_)\]】）]{0,4})[:：]",
    re.IGNORECASE,
)
_HEADING = re.compile(r"##+|(?<!\S)#(?=\s)")  # the "#" of C# is no heading
# Fences and brackets that open a block; "▁" is the blank inside some models' special tokens.
_SAME_LENGTH = str.maketrans({"`": "'", "【": "（", "】": "）", "▁": "_"})


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Text for a prompt. `origins[i]` is the index in the raw text of character i, -1 for one of ours."""

    text: str
    origins: tuple[int, ...]

    def passage(self, raw: str, quote: str) -> str | None:
        """The raw text of a quote taken from the cleaned one; None when it is not there in one piece."""
        start = self.text.find(quote) if quote else -1
        if start < 0:
            return None
        origins = self.origins[start : start + len(quote)]
        return None if _OURS in origins else raw[origins[0] : origins[-1] + 1]


def clean(raw: str, omit: Sequence[tuple[int, int]] = ()) -> Cleaned:
    """NFKC, nothing invisible, blanks single, special tokens and role names defused one for one.

    The spans of `omit` are left out, with a mark of ours in their place.
    """
    chars: list[str] = []
    origins: list[int] = []
    for index, char in enumerate(raw):
        ours = _omitted(index, omit)
        for folded in _fold(char) if ours is None else ours:
            if folded == " " and (not chars or chars[-1] == " "):
                continue
            chars.append(folded)
            origins.append(index if ours is None else _OURS)
    return Cleaned(_defuse("".join(chars)), tuple(origins))


def _omitted(index: int, omit: Sequence[tuple[int, int]]) -> str | None:
    """What stands for a character left out: the mark for the first of its span. None for a kept one."""
    within = [start for start, stop in omit if start <= index < stop]
    if not within:
        return None
    return _CUT if min(within) == index else ""


def _fold(char: str) -> str:
    if char.isspace():
        return " "
    if unicodedata.category(char)[0] == "C" or _HIDDEN.match(char):
        return ""
    return char if char in _KEPT else unicodedata.normalize("NFKC", char)


def _defuse(text: str) -> str:
    """Each replacement is as long as what it replaces, so that origins stay true."""
    text = text.translate(_SAME_LENGTH)
    text = _TAG_OPENS.sub("‹", text)
    text = _TOKEN_CLOSES.sub("¦", text)
    text = _BRACKETED.sub("(", text)
    text = _HEADING.sub(lambda found: "·" * len(found[0]), text)
    return _ROLE.sub(r"\1,", text)


def estimated_tokens(text: str) -> float:
    """On the safe side for the tokenizers in use: one a Chinese character, one for 3.5 of the others."""
    wide = sum(1 for char in text if char >= "\u1100")
    return wide + (len(text) - wide) / 3.5


def shorten(cleaned: Cleaned, max_tokens: float) -> Cleaned:
    """At most about `max_tokens`: the beginning and the end, where situation and result are told."""
    tokens = estimated_tokens(cleaned.text)
    if tokens <= max_tokens:
        return cleaned
    keep = int(len(cleaned.text) * max_tokens / tokens)
    head, tail = keep * 3 // 5, len(cleaned.text) - (keep - keep * 3 // 5)
    return Cleaned(
        cleaned.text[:head] + _CUT + cleaned.text[tail:],
        cleaned.origins[:head] + (_OURS,) * len(_CUT) + cleaned.origins[tail:],
    )
