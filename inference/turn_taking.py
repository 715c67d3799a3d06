"""How long to wait before a score stands and before the interviewer takes the floor.

Rules on the last words, the question and the speaker's own pauses; a model of turns, where there is one,
only adds to them. Knows nothing of audio, engines or sockets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from inference.assessment import QuestionSpec
from inference.config import TurnTaking
from inference.nlp.question import Form, kind_and_form
from inference.pauses import OwnPauses

Ending = Literal["finished", "unfinished", "hanging"]

_TRAILING = " \t\n\"'”’)）"
_SENTENCE_END = re.compile(r"[.!?。！？]$")
_TRAILING_OFF = re.compile(r"(?:\.\.\.|…|-|—|,|，|、|;|；|:|：)$")
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_HANGING_EN = re.compile(
    r"\b(?:and|but|because|so|or|then|if|when|while|which|that|who|the|a|an|to|of|for|with|from|by|in|on|at|as|"
    r"my|our|their|his|her|its|is|was|were|are|i|we|um+|uh+|er+|em+|hmm+|like|well|also|first|second|than|"
    r"you know|i mean|sort of|kind of|such as|for example|for instance)$",
    re.IGNORECASE,
)
_HANGING_ZH = re.compile(
    r"(?:嗯+|呃+|额|啊|唔|e?m{2,}|然后|但是|不过|因为|所以|而且|并且|以及|还有|就是|就是说|那个|这个|如果|首先|其次|"
    r"比如|比如说|例如|包括|或者|虽然|由于|和|跟|的|把|被|在|我|我们)$",
    re.IGNORECASE,
)
# Recognisers close whatever stands before a pause with a full stop: these are no whole thoughts all the same.
_CLAUSE_EN = re.compile(r"^(?:when|whenever|while|if|unless|although|though)\b[^,]*$", re.IGNORECASE)
_CLAUSE_ZH = re.compile(r"^(?:当|如果|虽然|尽管|由于|只要|除了)[^，,]*$|(?:的时候|之后|以后|的话)$")
_FIRST_EN = re.compile(
    r"^(?:first(?:ly| of all)?|to begin with|on (?:the )?one hand|for one thing)\b", re.IGNORECASE
)
_FIRST_ZH = re.compile(r"^(?:首先|第一|一方面|其一)")
_NEXT = re.compile(
    r"\b(?:then|second(?:ly)?|next|after that|finally|on the other hand)\b"
    r"|然后|其次|第二|接着|再|最后|另一方面|其二",
    re.IGNORECASE,
)
# "Kafka, Redis, Celery": without the "and" before its last item a list goes on.
_LIST_EN = re.compile(
    r"[\w'-]+(?:\s[\w'-]+)?(?:,\s(?!and\b|or\b)[\w'-]+(?:\s[\w'-]+)?){2}$",
    re.IGNORECASE,
)
_LIST_ZH = re.compile(r"、[^、，。和及或等]+$")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")

# Words after which a finished sentence may well be the whole answer. A story is not told in one sentence.
_ENOUGH_WORDS: dict[Form, int] = {
    "story": 20,
    "career": 60,
    "approach": 20,
    "design": 20,
    "explain": 20,
    "motive": 20,
    "fact": 10,
    "follow_up": 10,
    "yes_no": 3,
}
_WORDS_PER_CHARACTER = 0.6  # of Chinese

OVER, NOT_OVER = 0.9, 0.1  # a turn model is believed only when it is sure


@dataclass(frozen=True, slots=True)
class Patience:
    """Silence after the last word, in seconds, at which each clock strikes."""

    soft_s: float
    hard_s: float


def ending(text: str) -> Ending:
    """How the words so far end: a finished sentence, an open one, or on a word that asks for more.

    Recognisers close a trailing "but" with a full stop, so the last word is looked at before the mark.
    """
    stripped = text.rstrip(_TRAILING)
    bare = stripped.rstrip(".,!?;:-—…。，！？；：、 ")
    if not bare or _HANGING_EN.search(bare) or (_CHINESE.search(bare) and _HANGING_ZH.search(bare)):
        return "hanging"
    if _TRAILING_OFF.search(stripped):
        return "hanging" if stripped[-1] in ",，、" else "unfinished"
    return "finished" if _SENTENCE_END.search(stripped) and _is_whole(bare) else "unfinished"


def _is_whole(bare: str) -> bool:
    """Whether the last sentence says something of its own and announces nothing that has not come."""
    last = _SENTENCES.split(bare)[-1]
    if _CHINESE.search(last):
        clause, first, listed = _CLAUSE_ZH, _FIRST_ZH, _LIST_ZH
    else:
        clause, first, listed = _CLAUSE_EN, _FIRST_EN, _LIST_EN
    announced = first.search(last) and not _NEXT.search(last)
    return not (announced or clause.search(last) or listed.search(last))


def word_count(text: str) -> float:
    """Words, Chinese characters counting as a part of one."""
    characters = len(_CHINESE.findall(text))
    return characters * _WORDS_PER_CHARACTER + len(_CHINESE.sub(" ", text).split())


@dataclass(frozen=True, slots=True)
class Floor:
    """When the interviewer may take it, for one question and one speaker."""

    config: TurnTaking
    enough_words: int
    own: OwnPauses

    def patience(self, text: str, over: float | None = None) -> Patience:
        """How much silence to give after these words. `over`: how sure a model is that the turn is over."""
        config, end = self.config, ending(text)
        if end == "hanging":
            return Patience(config.soft_hanging_s, config.hard_hanging_s)
        if end == "unfinished":
            sure = over is not None and over >= OVER
            return Patience(config.soft_s if sure else config.soft_unfinished_s, config.hard_unfinished_s)
        if over is not None and over <= NOT_OVER:
            return Patience(config.soft_unfinished_s, config.hard_unfinished_s)
        return Patience(self._soft_s(), self._hard_s(text))

    def _soft_s(self) -> float:
        config = self.config
        return max(config.soft_s, min(0.8 * self.own.usual_s, config.soft_unfinished_s))

    def _hard_s(self, text: str) -> float:
        """Who has hardly begun, or pauses for long and goes on, is given what an open sentence is given."""
        config = self.config
        if word_count(text) < self.enough_words:
            return config.hard_early_s
        return max(config.hard_s, min(self.own.long_s, config.hard_unfinished_s))


def floor_for(question: QuestionSpec, own: OwnPauses, config: TurnTaking) -> Floor:
    """A question for a story gets more patience at its beginning than one for a number."""
    _, form = kind_and_form(question)
    return Floor(config, _ENOUGH_WORDS[form], own)
