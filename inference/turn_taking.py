"""How long to wait before a score stands and before the interviewer takes the floor.

Plain rules on the last words and the silence after them. Knows nothing of audio, engines or sockets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from inference.assessment import Language
from inference.config import TurnTaking

Ending = Literal["finished", "unfinished", "hanging"]

_TRAILING = " \t\n\"'”’)）"
_SENTENCE_END = re.compile(r"[.!?。！？]$")
_TRAILING_OFF = re.compile(r"(?:\.\.\.|…|-|—|,|，|、|;|；|:|：)$")
_HANGING_EN = re.compile(
    r"\b(?:and|but|because|so|or|then|if|when|while|which|that|who|the|a|an|to|of|for|with|from|by|in|on|at|as|"
    r"my|our|their|his|her|its|is|was|were|are|i|we|um+|uh+|er+|like|well|also|first|second|than)$",
    re.IGNORECASE,
)
_HANGING_ZH = re.compile(
    r"(?:嗯+|呃+|额|啊|然后|但是|不过|因为|所以|而且|并且|以及|还有|就是|那个|这个|如果|首先|其次|比如|包括|和|跟|的|把|被|在)$"
)


@dataclass(frozen=True, slots=True)
class Patience:
    """Silence after the last word, in seconds, at which each clock strikes."""

    soft_s: float
    hard_s: float


def ending(text: str, language: Language) -> Ending:
    """How the words so far end: a finished sentence, an open one, or on a word that asks for more.

    Recognisers close a trailing "but" with a full stop, so the last word is looked at before the mark.
    """
    stripped = text.rstrip(_TRAILING)
    bare = stripped.rstrip(".,!?;:-—…。，！？；：、 ")
    hanging = _HANGING_ZH if language == "zh" else _HANGING_EN
    if not bare or hanging.search(bare) or (language == "zh" and _HANGING_EN.search(bare)):
        return "hanging"
    if _TRAILING_OFF.search(stripped):
        return "hanging" if stripped[-1] in ",，、" else "unfinished"
    return "finished" if _SENTENCE_END.search(stripped) else "unfinished"


def patience(text: str, language: Language, config: TurnTaking) -> Patience:
    """How much silence to give after these words."""
    return {
        "finished": Patience(config.soft_s, config.hard_s),
        "unfinished": Patience(config.soft_unfinished_s, config.hard_unfinished_s),
        "hanging": Patience(config.soft_hanging_s, config.hard_hanging_s),
    }[ending(text, language)]
