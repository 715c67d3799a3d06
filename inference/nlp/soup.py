"""Whether an answer is told in words of its own, or only in the words that graders look for.

"I led, I built, I measured, as a result 40 percent" has acts without objects and outcomes of nothing.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from inference.nlp import lexicon_en as en
from inference.nlp import lexicon_zh as zh
from inference.nlp.clauses import words_of
from inference.nlp.language import han_count
from inference.nlp.lexicon import any_of, phrases
from inference.nlp.stems import stem
from inference.nlp.topics import TECHNICAL_EN, TECHNICAL_ZH, WORK_EN, WORK_ZH

# Words that fit any answer to any question: what the rubric names, deeds without an object, praise, measures.
_ANYBODYS = frozenset(
    stem(word)
    for word in phrases(
        "situation|situations|task|tasks|action|actions|result|results|star|context|goal|goals|target|objective|role|outcome|impact|effect|"
        "problem|problems|technical|technology|challenge|challenges|challenging|issue|issues|hard|difficult|difficulty|complex|solution|solutions|"
        "solve|solved|solving|success|successful|successfully|excellence|excellent|quality|performance|value|improvement|efficiency|productivity|"
        "progress|achievement|achieve|achieved|accomplish|accomplished|experience|skill|skills|ability|example|question|answer|score|grade|grader|points|marks|mark|rating|"
        "lead|led|leading|build|built|building|design|designed|fix|fixed|measure|measured|test|tested|deploy|deployed|improve|improved|increase|increased|"
        "reduce|reduced|decrease|decreased|deliver|delivered|create|created|make|made|implement|implemented|develop|developed|manage|managed|launch|launched|"
        "own|owned|drive|drove|driven|optimize|optimized|optimise|optimised|analyse|analysed|analyze|analyzed|plan|planned|execute|executed|complete|completed|"
        "finish|finished|do|did|done|take|took|taken|get|got|give|gave|gain|gained|handle|handled|work|worked|working|responsible|responsibility|charge|job|"
        "last|first|then|next|finally|previous|current|company|team|teams|project|projects|people|everyone|everything|something|thing|things|"
        "happy|satisfied|happened|tell|said|say|number|numbers|growth|grow|grew|fell|rose|dropped|down|please|really|also|because"
    )
)
_ANYBODYS_ZH = re.compile(
    any_of(
        phrases(
            "情况|背景|任务|行动|结果|效果|目标|角色|职责|挑战|困难|难题|问题|技术|方案|办法|方法|解决|成功|成果|成绩|优秀|完美|质量|性能|效率|能力|经验|价值|影响|"
            "负责|主导|推动|带领|领导|设计|优化|实现|开发|测试|上线|分析|处理|完成|落实|总结|复盘|改进|改善|提升|提高|降低|减少|增加|增长|下降|搭建|构建|部署|重构|"
            "执行|推进|制定|达成|达到|交付|参与|协调|沟通|测量|衡量|修复|百分之|百分点|倍|项目|团队|公司|工作|最难|最后|最终|当时|去年|以前|之前|之后|后来|首先|然后|接着|"
            "因此|所以|于是|通过|进行|非常|特别|顺利|按时|如期|提前|很好|更好|满意|没有|出现|故障|同事|大家|我们|自己|很大|很难|困|难|第一|时间|个月|小时|分钟|"
            "回答|评分|满分|分数|数字|指标|数据"
        )
    )
)
# They measure, but say nothing of what.
_MEASURES = frozenset(
    stem(word)
    for word in phrases(
        "percent|percentage|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|times|fold|"
        "time|day|days|week|weeks|month|months|year|years|hour|hours|minute|minutes|second|seconds|better|best|good|great|bad|worse|high|higher|low|lower|fast|faster|quick|quickly|ms|down|up|point|points"
    )
)
# What is a deed elsewhere and a thing here: "the build", "our tests".
_NAMED_THING = re.compile(
    r"\b(?:the|an?|our|my|his|her|their|its|this|that|each|every|these|those|nightly|slow|unit|load|new|old|long) "
    r"(builds?|tests?|designs?|plans?|fix(?:es)?|deploys?|measures?|launch(?:es)?|drives?|grades?|scores?|marks?)\b"
)
_NUMERALS_ZH = re.compile(r"[零〇一二两三四五六七八九十百千万亿半]+")
_LABEL = re.compile(
    r"(?:(?:the |my )?(?:situations?|tasks?|actions?|results?|context|background|problem|outcome|goal|star)(?:\s+(?:and )?(?=\S)|$))+"
    r"|(?:(?:当时的?|我的)?(?:情况|背景|情境|任务|目标|行动|做法|结果|问题|成果)(?:[和与]|$)?)+"
)
_SHORTEST_WORDS = 12
_FEW, _SEVERAL, _SOME = 3, 4, 8  # distinct words of its own
_MOSTLY, _HALF, _PARTLY = 0.55, 0.5, 0.3  # share of words that anybody could say
_AGAIN_AND_AGAIN = 3


@dataclass(frozen=True, slots=True)
class _Words:
    """`own` in the order of the answer; `common` counts the words that anybody could say of anything."""

    own: list[str]
    common: int

    @property
    def common_share(self) -> float:
        told = len(self.own) + self.common
        return self.common / told if told else 0.0


def is_label(clause: str) -> bool:
    """A heading such as "Situation:", or the row "situation task action result"; it says nothing by itself."""
    return _LABEL.fullmatch(clause) is not None


def is_soup(text: str, words: int) -> bool:
    """Hardly a word of its own among those that graders look for, or one thing put after every verb."""
    if words < _SHORTEST_WORDS:
        return False
    told = _chinese_words(text) if han_count(text) >= words else _english_words(text)
    distinct = len(set(told.own))
    if distinct < _FEW and told.common_share >= _MOSTLY:
        return True
    if distinct <= _SOME and told.common_share >= _HALF and not _of_work(text):
        return True
    return told.common_share >= _PARTLY and distinct <= _SEVERAL and _one_thing_everywhere(told.own)


def _of_work(text: str) -> bool:
    """Bananas may be led and measured; a story of work names something of it."""
    named = [match for topic in (TECHNICAL_EN, WORK_EN) for match in topic.findall(text)]
    if any(stem(word) not in _ANYBODYS for word in named):
        return True
    named = [match for topic in (TECHNICAL_ZH, WORK_ZH) for match in topic.findall(text)]
    return any(not _ANYBODYS_ZH.search(word) for word in named)


def _one_thing_everywhere(own: list[str]) -> bool:
    most = Counter(own).most_common(1)
    return bool(most) and most[0][1] >= _AGAIN_AND_AGAIN and most[0][1] * 2 > len(own)


def _english_words(text: str) -> _Words:
    latin = [word for word in words_of(text) if word[0].isascii() and word[0].isalpha() and len(word) > 1]
    stems = [stem(word) for word in latin if word not in en.FUNCTION_WORDS]
    said = [word for word in stems if word not in _MEASURES]
    things = [stem(thing) for thing in _NAMED_THING.findall(text)]
    own = [word for word in said if word not in _ANYBODYS]
    return _Words(own + things, len(said) - len(own) - len(things))


def _chinese_words(text: str) -> _Words:
    """Runs of characters, with English terms among them."""
    plain = _NUMERALS_ZH.sub(" ", text)
    common = _ANYBODYS_ZH.findall(plain)
    rest = _ANYBODYS_ZH.sub(" ", plain)
    kept = "".join(" " if char in zh.FUNCTION_CHARS else char for char in rest)
    own = re.findall(r"[\u3400-\u9fff]{1,4}", kept) + _english_words(text).own
    return _Words(own, len(common))
