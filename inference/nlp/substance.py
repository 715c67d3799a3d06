"""Whether there is an answer to judge: refusals, empty words, gibberish, another language, lists, loops.

Each reading only says what it saw; what that costs is said in caps.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from inference.assessment import Language
from inference.nlp import lexicon_en as en
from inference.nlp import lexicon_zh as zh
from inference.nlp.clauses import words_of
from inference.nlp.language import (
    common_han_share,
    detect,
    english_share,
    han_count,
    latin_words,
    other_script_share,
)
from inference.nlp.quantification import quantities_in
from inference.nlp.question import Form
from inference.nlp.reading import Mark, word_count
from inference.nlp.soup import is_soup
from inference.nlp.topics import LEISURE_ZH, TECHNICAL_ZH, WORK_ZH

_LEFT_OVER_WORDS = 6  # a refusal followed by more than this may still be an answer
_SHORTEST_PROSE = 5
_LOOP_SHARE = 0.45
_SEVERAL_CLAIMS = 2
_PROSE_HAN_SHARE = 0.16
_TERMS_ARE_FINE: tuple[Form, ...] = ("fact", "yes_no")


@dataclass(frozen=True, slots=True)
class Substance:
    words: int
    refusal: bool = False
    empty: bool = False
    gibberish: bool = False
    wrong_language: bool = False
    stuffing: bool = False
    repetition: bool = False
    buzzwords: bool = False

    @property
    def sound(self) -> bool:
        return not (
            self.refusal
            or self.empty
            or self.gibberish
            or self.wrong_language
            or self.stuffing
            or self.repetition
        )


def substance_of(text: str, marks: tuple[Mark, ...], form: Form, language: Language) -> Substance:
    words = words_of(text)
    wrong = _wrong_language(text, form, language)
    stuffed = not wrong and form not in _TERMS_ARE_FINE and (_stuffing(text, words) or _soup(text, marks))
    return Substance(
        words=word_count(text),
        refusal=_refusal(text, marks),
        empty=_empty(text, form),
        gibberish=not wrong and not stuffed and _gibberish(text, words),
        wrong_language=wrong,
        stuffing=stuffed,
        repetition=_repetition(words, marks),
        buzzwords=_buzzwords(marks),
    )


def _refusal(text: str, marks: tuple[Mark, ...]) -> bool:
    if not (en.REFUSAL.search(text) or zh.REFUSAL.search(text)):
        return False
    if any(mark.act and not mark.planned for mark in marks):
        return False
    rest = text
    for pattern in (en.REFUSAL, zh.REFUSAL, en.POLITE, zh.POLITE):
        rest = pattern.sub(" ", rest)
    return word_count(rest) <= _LEFT_OVER_WORDS


_PUNCTUATION = re.compile(r"[^\w\u3400-\u9fff' ]+")


def _empty(text: str, form: Form) -> bool:
    """One or two words that say nothing; a bare yes or no does answer a yes/no question."""
    bare = _PUNCTUATION.sub(" ", text).strip()
    words = bare.split()
    if not bare:
        return True
    if form == "yes_no" and (bare in _YES_OR_NO or words[0] in _YES_OR_NO):
        return False
    hollow = all(word in en.EMPTY_ANSWER for word in words) or bare.rstrip("吧啊呢的了") in zh.EMPTY_ANSWER
    figure = form == "follow_up" and bool(quantities_in(text))  # "by how much?" - "forty percent"
    return hollow or (form not in _TERMS_ARE_FINE and not figure and word_count(bare) <= 2)


_YES_OR_NO = frozenset(
    [
        "yes",
        "no",
        "yeah",
        "yep",
        "nope",
        "是",
        "是的",
        "有",
        "没有",
        "对",
        "不是",
        "有的",
        "没",
        "会",
        "不会",
        "可以",
        "不可以",
    ]
)


def _gibberish(text: str, words: list[str]) -> bool:
    latin = latin_words(text)
    if han_count(text) >= 8:
        known = len(TECHNICAL_ZH.findall(text)) + len(WORK_ZH.findall(text)) + len(LEISURE_ZH.findall(text))
        return common_han_share(text) < _PROSE_HAN_SHARE and known < 2
    if not words:
        return False
    if len(latin) < 3 or english_share(text) > 0:
        return False
    return sum(_unpronounceable(word) for word in latin) / len(latin) > 0.4


_VOWELS = re.compile(r"[aeiouy]")
_HARD_RUN = re.compile(r"[bcdfghjklmnpqrstvwxz]{4,}")


def _unpronounceable(word: str) -> bool:
    low = word.lower()
    return len(low) > 2 and (not _VOWELS.search(low) or bool(_HARD_RUN.search(low)))


def _wrong_language(text: str, form: Form, language: Language) -> bool:
    if other_script_share(text) > 0.3:
        return True
    latin = len(latin_words(text))
    spoken = detect(text)
    if spoken != language:
        # Names and terms alone ("Kafka, Redis") are no language.
        return (
            han_count(text) >= 4 if spoken == "zh" else latin >= _SHORTEST_PROSE and english_share(text) > 0.2
        )
    return (
        spoken == "en"
        and latin >= 8
        and english_share(text) < 0.08
        and _accented_prose(text)
        and form not in ("fact",)
    )


_ACCENTED = re.compile(r"[\u00c0-\u024f]")
_ROMANCE = re.compile(
    r"\b(?:el|la|los|las|de|del|que|y|un|una|mi|con|por|para|le|les|des|et|je|nous|une|est|dans|der|die|das|und|ich|wir|ein|eine|mit|von|zu|il|che|di|uma|os|o|em|nao|não)\b"
)


def _accented_prose(text: str) -> bool:
    return len(_ROMANCE.findall(text)) >= 3 or bool(_ACCENTED.search(text))


def _stuffing(text: str, words: list[str]) -> bool:
    """Keywords without sentences: hardly a function word among them."""
    if han_count(text) >= 12:
        chars = [char for char in text if "\u3400" <= char <= "\u9fff"]
        glue = sum(char in zh.FUNCTION_CHARS for char in chars) / len(chars)
        pieces = [piece for piece in re.split(r"[，,、。；;\s.]+", text) if piece]
        return (
            len(pieces) >= 4 and glue < 0.08 and sum(map(len, pieces)) / len(pieces) <= 7 and "我" not in text
        )
    latin = [word for word in words if word[0].isascii() and word[0].isalpha()]
    if len(latin) < 6 or sum(word in en.FUNCTION_WORDS for word in latin) / len(latin) >= 0.13:
        return False
    return not _gibberish(text, words)


def _soup(text: str, marks: tuple[Mark, ...]) -> bool:
    """Deeds and outcomes are claimed, and nothing is said of what was done or changed."""
    claims = sum(mark.acts for mark in marks if not mark.planned) + sum(mark.outcome for mark in marks)
    return claims >= _SEVERAL_CLAIMS and is_soup(text, word_count(text))


def _repetition(words: list[str], marks: tuple[Mark, ...]) -> bool:
    """The same words again and again, with or without full stops."""
    if len(words) < 8:
        return False
    size = 6 if words[0] >= "\u3400" else 4
    runs = [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]
    if len(set(runs)) / len(runs) < _LOOP_SHARE:
        return True
    said = Counter(mark.clause.text for mark in marks if mark.words >= 3)
    clause, times = said.most_common(1)[0] if said else ("", 0)
    return times >= 3 and times * len(clause) * 2 > sum(len(mark.clause.text) for mark in marks)


def _buzzwords(marks: tuple[Mark, ...]) -> bool:
    """Slogans and no act outside them."""
    buzz = sum(mark.buzz for mark in marks)
    plain_acts = [mark for mark in marks if mark.act and not mark.buzz and not mark.planned]
    return buzz >= 3 and not plain_acts
