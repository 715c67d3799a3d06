"""Which names are likely to be said in an answer: those listed for it, then those in the texts around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from inference.terms.lexicon import is_ordinary, is_word, names

MOST_TERMS = 32
MOST_TOKENS = 100  # of the recogniser's prompt
_LETTERS_A_TOKEN = 3
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[+#]+|(?:[./-][A-Za-z0-9]+)*)")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？：；\n])[\s\"“(（]*$")


def gathered(listed: Iterable[str], *texts: str) -> tuple[str, ...]:
    """The listed terms first, each once, as many as the recogniser's prompt can hold."""
    found: dict[str, str] = {}
    room = MOST_TOKENS
    for term in (*listed, *(name for text in texts for name in _names_in(text))):
        name = " ".join(term.split())
        cost = _tokens(name)
        if not name or name.casefold() in found or cost > room or len(found) == MOST_TERMS:
            continue
        found[name.casefold()] = name
        room -= cost
    return tuple(found.values())


def _names_in(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        if _is_name(found[0], starts=bool(_SENTENCE_START.search(text[: found.start()]))):
            yield found[0]


def _is_name(word: str, *, starts: bool) -> bool:
    """Written like one (gRPC, SQL, p95, C++), or no ordinary word; sentences begin with a capital anyway."""
    if len(word) < 2:
        return False
    inner = any(char.isupper() or char.isdigit() or char in "+#" for char in word[1:])
    known = word.lower() in names() and word[0].isupper() and not (starts and is_word(word))
    return inner or known or (word[0].isupper() and not starts and not is_ordinary(word))


def _tokens(term: str) -> int:
    """About as many as the recogniser's tokenizer makes of it, with the comma behind it."""
    wide = sum(not char.isascii() for char in term)
    return 2 * wide + -(-(len(term) - wide) // _LETTERS_A_TOKEN) + 1
