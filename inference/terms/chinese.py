"""How spoken Chinese is written down: its script, and the mark that ends what was said."""

from __future__ import annotations

import re

_HAN = re.compile("[㐀-鿿]")
_MARKED = re.compile(r"[。！？；：，、…,.!?;:)）”\"]$")
_ASKS = re.compile("(?:吗|呢|(?<![什那怎这要多])么)$")
_GOES_ON = re.compile(
    "(?:嗯+|呃+|额|啊|然后|但是|不过|因为|所以|而且|并且|以及|还有|就是|那个|这个|如果|首先|其次|比如|包括|和|跟|的|把|被|在)$"
)


def has_han(text: str) -> bool:
    return not text.isascii() and bool(_HAN.search(text))


def is_han(char: str) -> bool:
    return bool(_HAN.match(char))


def punctuated(text: str) -> str:
    """With a mark at its end: a comma where the speaker broke off on a word that asks for more."""
    bare = text.rstrip()
    if not bare or not has_han(bare) or _MARKED.search(bare):
        return bare
    if _GOES_ON.search(bare):
        return bare + "，"
    return bare + ("？" if _ASKS.search(bare) else "。")
