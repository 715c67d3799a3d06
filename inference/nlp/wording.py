"""Puts an issue and the readings into the interview's language, with the speaker's own words where safe."""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from types import ModuleType

from inference.assessment import STAR_NAMES, DimensionScore, Language
from inference.nlp import phrases_en, phrases_zh
from inference.nlp.dimensions import HIGH, LOW, WEIGHTS, Reading
from inference.nlp.features import Features
from inference.nlp.language import detect, english_share, han_count
from inference.nlp.question import Form
from inference.nlp.reading import Mark, word_count
from inference.nlp.stems import content_stems

_LONGEST_QUOTE_CHARS = 72
_LONGEST_QUOTE_HAN = 26
_SHORTEST_QUOTE_WORDS = 2
_ENGLISH_SHARE = 0.2  # of function words: less, and a Latin text is some other language
# What must not be read back to a speaker: markup, links, addresses, long numbers, foul words.
_UNSAFE = re.compile(
    r"[<>{}\[\]|\\`\"“”@#$^*_=~]|https?:|www\.|\d{6,}|\b(?:fuck|shit|bitch|cunt|asshole|bastard|nigger|faggot|stupid|idiot)\w*|"
    r"傻[逼bB×]|操你|他妈|妈的|混蛋|王八|废物|sb\b",
    re.IGNORECASE,
)


def phrases_for(language: Language) -> ModuleType:
    return phrases_zh if language == "zh" else phrases_en


def weakness_text(features: Features, issue: str, quote: str) -> str:
    words = phrases_for(features.language)
    quoted, plain = words.WEAKNESS[issue]
    template: str = quoted if quoted and quote else plain
    text = template.format(quote=quote, hint=_hint(features), point=_point(features))
    return f"{text} {other}" if (other := _in_the_answers_language(features, issue, "weakness")) else text


def _in_the_answers_language(features: Features, issue: str, part: str) -> str:
    """Who answered in the other language may not read this one: it is said in both."""
    text = features.folded.text
    other: Language = "en" if features.language == "zh" else "zh"
    if issue != "wrong_language" or detect(text) != other:
        return ""
    if other == "en" and english_share(text) <= _ENGLISH_SHARE:
        return ""  # neither of the two
    return str(phrases_for(other).FOR_THE_OTHER_LANGUAGE[part])


def follow_up_text(features: Features, issue: str, quote: str) -> str:
    """The question that asks for exactly what the weakness names; its wording varies with the answer."""
    options: tuple[str, ...] = phrases_for(features.language).FOLLOW_UP[issue]
    quoting = [option for option in options if "{quote}" in option]
    usable = quoting if quoting and quote else [option for option in options if "{quote}" not in option]
    chosen = usable[zlib.crc32(features.folded.text.encode("utf-8", "replace")) % len(usable)]
    text = chosen.format(quote=quote, point=_point(features))
    return f"{text} {other}" if (other := _in_the_answers_language(features, issue, "follow_up")) else text


def _point(features: Features) -> str:
    missing = features.relevance.missing
    return missing[0][:80] if missing else ""


@lru_cache(maxsize=2)
def _hints(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern), hint) for pattern, hint in phrases_for(language).HINTS)


def _hint(features: Features) -> str:
    text = features.folded.text
    default: str = phrases_for(features.language).DEFAULT_HINT
    return next((hint for pattern, hint in _hints(features.language) if pattern.search(text)), default)


def topic_quote(features: Features, issue: str) -> str:
    """A short, safe piece of the answer that the issue is about; "" when there is none."""
    for mark in _about(features, issue):
        quote = _shortened(features.quote(mark).strip(" .。!！?？"))
        if _is_safe(quote):
            return quote
    return ""


_DANGLING = re.compile(
    r"(?:\s+(?:and|or|but|the|a|an|of|to|in|on|at|for|with|between|from|by|that|which|my|our|his|her|their|so|as|into|than))+$",
    re.IGNORECASE,
)


def _shortened(quote: str) -> str:
    """A long English clause up to its first "and", or as many whole words as fit; still the speaker's own."""
    if len(quote) <= _LONGEST_QUOTE_CHARS or han_count(quote) > 4:
        return quote
    head = quote[:_LONGEST_QUOTE_CHARS]
    joined = head.find(" and ", _LONGEST_QUOTE_CHARS // 4)
    return _DANGLING.sub("", head[: joined if joined > 0 else head.rfind(" ")]).rstrip(" ,;:")


def _is_safe(quote: str) -> bool:
    longest = _LONGEST_QUOTE_HAN if han_count(quote) > 4 else _LONGEST_QUOTE_CHARS
    return (
        word_count(quote) >= _SHORTEST_QUOTE_WORDS
        and len(content_stems(quote.lower())) >= _SHORTEST_QUOTE_WORDS
        and len(quote) <= longest
        and "\n" not in quote
        and quote.isprintable()
        and not _UNSAFE.search(quote)
    )


def _about(features: Features, issue: str) -> list[Mark]:
    marks = list(features.marks)
    acts = [mark for mark in features.acts if not mark.role] or list(features.acts)
    chosen: dict[str, list[Mark]] = {
        "no_number": [mark for mark in marks if mark.outcome],
        "last_step": [mark for mark in marks if mark.outcome] + acts,
        "no_result": acts[::-1],
        "no_steps": [mark for mark in marks if mark.outcome] + acts,
        "blame": [mark for mark in marks if mark.blame],
        "buzzwords": sorted((m for m in marks if m.buzz), key=lambda m: (-m.buzz, -len(m.clause.text))),
        "vague": [mark for mark in marks if mark.vague],
        "we_only": [mark for mark in acts if mark.actor == "we"],
        "no_limits": [mark for mark in acts if not mark.measured],
        "no_task": [mark for mark in acts if not mark.measured],
    }
    if issue in chosen:
        return chosen[issue]
    return acts + [mark for mark in marks if not mark.vague]


def with_comments(features: Features, readings: tuple[Reading, ...]) -> tuple[DimensionScore, ...]:
    weights = WEIGHTS[features.kind]
    return tuple(
        DimensionScore(r.dimension, r.value, weights[r.dimension], r.quotes, _comment(features, r))
        for r in readings
    )


def _comment(features: Features, reading: Reading) -> str:
    words = phrases_for(features.language)
    if WEIGHTS[features.kind][reading.dimension] == 0:
        return str(words.COMMENT["unweighed"])
    level = "low" if reading.value <= LOW else "high" if reading.value >= HIGH else "mid"
    if level == "low" and reading.dimension != "relevance" and not features.sound:
        return str(words.COMMENT["none"])
    if reading.dimension == "structure" and features.form in ("story", "career"):
        return _star_comment(features, level)
    if reading.dimension == "relevance" and features.relevance.missing and level == "mid":
        points = words.JOIN.join(features.relevance.missing[:3])
        return str(words.COMMENT["relevance.missing"]).format(points=points)
    return str(_first_of(words.COMMENT, reading.dimension, _family(features), level))


def _family(features: Features) -> tuple[str, ...]:
    families: dict[Form, tuple[str, ...]] = {
        "design": ("design", "technical"),
        "explain": ("claim", "technical"),
        "motive": ("claim", "motive"),
        "fact": ("fact",),
        "yes_no": ("fact",),
        "follow_up": ("focus", "fact"),
    }
    return families.get(features.form, ())


def _first_of(comments: dict[str, str], dimension: str, families: tuple[str, ...], level: str) -> str:
    keys = [f"{dimension}.{family}.{level}" for family in families] + [f"{dimension}.{level}"]
    return next(comments[key] for key in keys if key in comments)


def _star_comment(features: Features, level: str) -> str:
    words = phrases_for(features.language)
    present = [words.STAR_WORD[name] for name in STAR_NAMES if features.star[name].present]
    missing = [words.STAR_WORD[name] for name in STAR_NAMES if not features.star[name].present]
    if not missing or not present:
        return str(words.COMMENT[f"structure.{level}"])
    return str(words.COMMENT["structure.star"]).format(
        present=_listed(words, present), missing=_listed(words, missing)
    )


def _listed(words: ModuleType, names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{words.JOIN.join(names[:-1])}{words.LIST_END}{names[-1]}"
