"""Words brought down to what two texts can share: English stems, and pairs of Chinese characters."""

from __future__ import annotations

import re
from functools import lru_cache

from inference.nlp import lexicon_en as en
from inference.nlp.clauses import words_of
from inference.nlp.lexicon import phrases

_ASKING_WORDS = frozenset(
    phrases(
        "tell|describe|give|example|time|situation|walk|through|explain|share|talk|question|please|"
        "thing|something|lot|kind|way|hard|difficult|biggest|greatest|last|first|current|previous|"
        "recent|would|design|difference|between|many|much|years|used|using|use|want|work|like|make|made|"
        "handle|public|good|best|worst|most|important|solved|dealt|faced|experience|someone|people"
    )
)
_ASKING_HAN = re.compile(
    r"请问?|讲|说说?|谈谈?|描述|介绍|举例|说明|一[个次件段下]|你|是|如何|怎么样?|怎样|什么|为什么|有没有|哪些|哪个|的|过|最|了|吗|呢|和|与|在|有|经历|例子|问题|时候|设计|一|请|现在|我们|公司|想"
)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """A crude English stem: enough for limiter / limit / limits / limited to meet."""
    for ending in ("ations", "ation", "ings", "ing", "ers", "er", "ies", "ied", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def content_stems(text: str) -> set[str]:
    """Stems of English content words and pairs of Chinese characters."""
    latin = [word for word in words_of(text) if word[0].isascii() and word[0].isalpha()]
    stems = {
        stem(word)
        for word in latin
        if word not in en.FUNCTION_WORDS and word not in _ASKING_WORDS and len(word) > 1
    }
    for run in re.findall(r"[\u3400-\u9fff]{2,}", _ASKING_HAN.sub(" ", text)):
        stems |= {run[at : at + 2] for at in range(len(run) - 1)}
    return stems


def answer_stems(text: str) -> set[str]:
    stems = {stem(word) for word in words_of(text) if word[0].isascii()}
    for run in re.findall(r"[\u3400-\u9fff]{2,}", text):
        stems |= {run[at : at + 2] for at in range(len(run) - 1)}
    return stems
