"""Numbers that measure something, written or spelled out, and outcomes that one could check without a number.

Dates, versions, status codes and time settings ("two years ago", 三个月之后) measure nothing here.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re

from inference.nlp.folding import Span
from inference.nlp.lexicon import any_of, phrases

_NUMERAL = any_of(
    phrases(
        "zero|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
        "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|hundreds|thousand|thousands|"
        "million|millions|billion|dozen|dozens"
    )
)
_SPELLED = rf"(?:one[ -])?{_NUMERAL}(?:(?:[ -]| and | point )(?:{_NUMERAL}|one))*"
# Numerals are bounded and begin where the run of digits begins: a page of them costs no more than a page of prose.
_DIGITS = r"(?<!\d)(?<!\d,)\d[\d,]{0,15}"
_UNIT = (
    r"(?:%|percent\b|per cent\b|percentage points?|x\b|times\b|fold\b|ms\b|s\b|k\b|m\b|gb\b|tb\b|mb\b|milliseconds?|seconds?|minutes?|hours?|"
    r"days?|weeks?|months?|quarters?|years?|dollars?|euros?|pounds?|usd|rps\b|qps\b|stars?)"
)
_DURATION = r"(?:seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?)"
_BEFORE_BARE = r"(?:to|from|by|under|below|over|above|than|about|only|almost|around|of|nearly|just|roughly|between|and|least|most)"
_NOT_NOUN = r"(?!rather\b|and\b|or\b|then\b|because\b|when\b|where\b|with\b|for\b|from\b|the\b|redirect|status|error\b|response|if\b|id\b|but\b|so\b|not\b|since\b)"
_YEAR = r"(?:(?:19|20)\d\d(?!\s?(?:%|percent|ms|users|requests|orders|people|customers|tickets))|(?:twenty|nineteen) (?:twenty|nineteen|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|[a-z]+ty)(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)"
_SETTING = re.compile(
    rf"\b(?:in |after |for |within |over |during |every |the )?(?:about |around |almost |roughly )?(?:the )?(?:last |past |next |first )?(?:(?<![\d.])\d[\d.]{{0,15}}|{_SPELLED}|one) {_DURATION}\s?(?:ago|away|before|earlier|later|after|old|into|off)?\b"
)
_NAMED = re.compile(
    r"\b(?:base|version|python|java|http|tls|ipv|level|phase|step|top|grade|chapter|number|tier|series|section|article|covid|windows|web|page|room|floor)[ -]?v?(?:\d[\d.]*|[a-z]+ty[ -][a-z]+)"
    rf"|\b{_YEAR}\b|\b24/7\b|\ba/b\b|\b(?:return|returns|answer|answers|use|uses|used|code|status) [1-5]\d\d\b"
)
_ENGLISH = re.compile(
    rf"(?:[$€£¥]\s?\d[\d,.]{{0,15}}(?:\s?(?:k|m|million|billion|thousand)\b)?)"
    rf"|\b(?:{_DIGITS}(?:\.\d{{1,9}})?|{_SPELLED}|one)\s?{_UNIT}"
    rf"|\b(?:{_DIGITS}(?:\.\d{{1,9}})?|{_SPELLED})(?: of (?:the|our|all|them))?\s{_NOT_NOUN}[a-z]{{3,}}"
    rf"|(?<=\b)(?:{_BEFORE_BARE}) (?:\d[\d,]{{0,15}}(?:\.\d{{1,9}})?(?:x|k)?|{_SPELLED}|none|zero)\b"
    r"|\b(?:half|a third|a quarter|two thirds|three quarters|twice|double|triple)(?= (?:of|the|as|a|our|that)\b)|\b(?:doubled|tripled|halved|quadrupled)\b"
)
_HAN_NUMERAL = (
    r"(?:(?<!\d)(?<!\d[,.])\d[\d,.]{0,15}"
    r"|(?<![零〇一二两三四五六七八九十百千万亿半])[零〇一二两三四五六七八九十百千万亿半]{1,16})"
)
_MEASURE = (
    r"(?:%|个?百分点|倍|成|多?个|多?条|多?次|多?人|多?名|多?位|多?家|多?单|多?台|多?件|多?笔|多?项|多?套|多?份|多?门|多?张|多?场|多?篇|多?块|多?元|万|亿|毫秒|微秒|秒|分钟?|小时|天|周|星期|个月|月|年|"
    r"gb|tb|mb|ms|qps|k|m|g|w|人天|行|页|字|分|点|轮|节点|副本|核|种|段|台|批|处|万)"
)
_CHINESE = re.compile(
    rf"百分之{_HAN_NUMERAL}(?:点{_HAN_NUMERAL})?"
    rf"|(?:零|{_HAN_NUMERAL})点{_HAN_NUMERAL}(?:{_MEASURE})?"
    rf"|{_HAN_NUMERAL}(?:多|几|余)?\s?{_MEASURE}"
    rf"|(?:到|至|到了|只有|只剩|不到|超过|达到|仅|约|大概|大约|低于|高于|少于|降了|涨了|是)(?:{_HAN_NUMERAL})(?:多|以内|以下|以上|左右)?(?![个次下些种直起样边般旦路])"
    r"|一半|翻(?:了)?(?:一|两|二|三|四|五|几)?(?:倍|番)|减半"
)
_CHINESE_NOT = re.compile(
    r"一(?:个|次|下|些|种|直|起|样|家|边|点(?!\d|[零一二三四五六七八九])|层|批|遍|笔|项|位|名|条|段|套|份|旦|定|般|切|致|步|台|方面|件|门|张|场|篇|块|轮|天(?!内|之内))|第[一二三四五六七八九十\d]+\w?|十分(?!钟|之)|万一|千万|"
    r"两(?:边|者|种|方|难|手|人)|三番|四处|五花|百分百|(?:19|20)\d\d\s?年?|[零〇一二三四五六七八九]{4}\s?年|\d{1,2}\s?(?:月|号|日)|[一二三四五六七八九十]{1,3}(?:月(?!内)|号|日)|"
    r"一一|双十一|一对一|大[一二三四](?!\d)|[http]{4}s?|tls\s?[\d.]+|[三五]年规划|(?:301|302|404|429|500|502|503)\b|半路|半天|一半时间|星期[一二三四五六]|周[一二三四五六]|三方|二维|二次|一线"
)
_CHINESE_SETTING = re.compile(
    rf"(?:在|过了|这|近|最近|过去|未来|每|工作了|做了)?{_HAN_NUMERAL}(?:多|几)?(?:年|个?月|周|个?星期|天|个?小时|分钟|个?季度)(?:半)?(?:前|之前|以前|后|之后|以后|内|之内|以内|里|来|以来|左右)?"
)
_FROM_TO = re.compile(
    r"\bfrom\b.{1,40}?\bto\b|\b(?:down|up) to\b|\b(?:fell|dropped|rose|grew|went|increased|decreased|reduced|cut|brought) .{0,30}?(?:to|by)\b|"
    r"从.{1,16}?(?:到|至|成|为)|(?:降|升|涨|减|增|缩短|提高|提升|减少|增加|压缩|控制)(?:低)?(?:到|至|了)"
)
_PROOF = re.compile(
    r"\b(?:no|zero|not (?:a|one) (?:single )?|without (?:a |an |any )?(?:single )?|free of|nobody|no one|none of (?:the|them|our) |never(?: again)?)\b.{0,24}?"
    r"(?:outages?|incidents?|downtime|errors?|failures?|bugs?|complaints?|crash(?:es|ed)?|loss(?:es)?|lost|defects?|delays?|happened again|came back|"
    r"wrong|left|quit|accidents?|injur\w+|returns|rollbacks?|interruptions?|regressions?|tickets?|collide)\b"
    r"|\b(?:on time|on schedule|(?:ahead of|before) (?:the )?(?:schedule|deadline|time)|(?:by|met|hit|made|within) the deadline|(?:on|within|under) budget|"
    r"(?:a|one|two|three|\w+) (?:day|days|week|weeks|month|months) (?:early|ahead))\b"
    r"|\b(?:never|not) happened again|\bhas(?: not|n't) (?:happened|failed|crashed|come back)|\bsince then\b.{0,40}\b(?:no|not|never|every)\b"
    r"|(?:没有?|未|零|无)(?:再|有)?(?:出现|发生|出)?(?:过|任何|一[个次起笔例])?[^，。,]{0,6}?(?:故障|问题|事故|投诉|错[账帐]|差错|错误|宕机|报错|丢失|延期|返工|离职|流失|bug|失败)"
    r"|\bwon (?:(?:the|a|an|our|first|second|third|best) )*(?:\w+ )?(?:prize|award|place|contract|competition|tender|bid)\b|(?:拿|获|得)[^，。]{0,8}?(?:奖|第[一二三]名?|冠军)"
    r"|(?:downtime|故障|投诉|事故|错误)(?:数)?(?:是|为|降?到)?零|(?:按时|如期|准时|提前[^，。]{0,6}?)(?:上线|完成|交付|发布|结束|交货)|提前了?[一二两三四五六七八九十\d]+(?:个)?(?:天|周|星期|月|小时)"
)


def quantities_in(text: str) -> list[Span]:
    """Places of numbers that measure something."""
    spans = _found(_ENGLISH, text, (_NAMED, _SETTING)) if _has_latin_number(text) else []
    if not text.isascii():
        spans += _found(_CHINESE, text, (_CHINESE_NOT, _CHINESE_SETTING))
    return sorted(spans)


_DIGIT_OR_WORD = re.compile(
    rf"\d|\b{_NUMERAL}\b|\b(?:half|third|quarters?|thirds|twice|doubled?|tripled?|halved|quadrupled|one|none)\b"
)


def _has_latin_number(text: str) -> bool:
    return _DIGIT_OR_WORD.search(text) is not None


def _found(pattern: re.Pattern[str], text: str, excluding: tuple[re.Pattern[str], ...]) -> list[Span]:
    matches = [match.span() for match in pattern.finditer(text)]
    if not matches:
        return []
    moving = moves_between(text)
    # "from nine hours to forty minutes" measures, "for nine hours" only sets the time.
    barred = [m.span() for other in excluding[: 1 if moving else 2] for m in other.finditer(text)]
    return [span for span in matches if not any(start < span[1] and span[0] < end for start, end in barred)]


def has_duration(text: str) -> bool:
    """A length of time of any use: an answer to "how long", a setting elsewhere."""
    if _has_latin_number(text) and _SETTING.search(text):
        return True
    return not text.isascii() and _CHINESE_SETTING.search(text) is not None


_QUICK = re.compile(
    rf"\b(?:in|within|took|after) (?:about |only |just |under |less than )*(?:(?<![\d.])\d[\d.]{{0,15}}|{_SPELLED}|one|an?) (?:seconds?|minutes?|hours?|days?)\b"
    rf"|{_HAN_NUMERAL}(?:多|几)?(?:个)?(?:秒钟?|分钟|小时|天)(?:内|之内|以内)?(?:就|便|都|全部)?(?:恢复|解决|完成|搞定|修好|上线|跑完)"
)


def is_quick(text: str) -> bool:
    """A time so short that it measures the outcome itself: recovered in twenty minutes, 二十分钟恢复."""
    return _QUICK.search(text) is not None


def moves_between(text: str) -> bool:
    """A change with its ends or its size: from … to …, fell by …, 降到 …."""
    return _FROM_TO.search(text) is not None


def is_proof(text: str) -> bool:
    """An outcome one could check without a number: no outage, on time, 没有出现故障."""
    return _PROOF.search(text) is not None
