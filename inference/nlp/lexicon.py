"""Word lists made into fast patterns; knows no words of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

_Trie = dict[str, "_Trie"]
_END = ""


def _trie(words: Iterable[str]) -> _Trie:
    root: _Trie = {}
    for word in words:
        node = root
        for char in word:
            node = node.setdefault(char, {})
        node[_END] = {}
    return root


def _source(node: _Trie) -> str:
    branches = [re.escape(char) + _source(child) for char, child in sorted(node.items()) if char != _END]
    if not branches:
        return ""
    group = branches[0] if len(branches) == 1 and _END not in node else f"(?:{'|'.join(branches)})"
    return f"{group}?" if _END in node else group


def any_of(words: Iterable[str]) -> str:
    """Pattern source for any of `words`, as a prefix tree: a long list costs no more than a short one."""
    return f"(?:{_source(_trie(words))})"


def phrases(text: str) -> tuple[str, ...]:
    """Entries of a lexicon block: separated by line ends or `|`, so that an entry may hold spaces."""
    return tuple(
        entry for line in text.strip().splitlines() for part in line.split("|") if (entry := part.strip())
    )


def english(text: str) -> re.Pattern[str]:
    """Whole English words or phrases of a lexicon block."""
    return re.compile(rf"\b{any_of(phrases(text))}\b")


def english_stems(text: str) -> re.Pattern[str]:
    """English word beginnings: `deploy` also finds `deployed` and `deployment`."""
    return re.compile(rf"\b{any_of(phrases(text))}[a-z]*")


def chinese(text: str) -> re.Pattern[str]:
    """Chinese words, anywhere: there are no spaces to bound them."""
    return re.compile(any_of(phrases(text)))
