"""Reads what each clause does: an act (whose?), a duty, a setting, an outcome, a number, a slogan.

One pass in order, because the same words before an act set the scene and after it tell what came of it.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from inference.assessment import Language
from inference.nlp import lexicon_en as en
from inference.nlp import lexicon_zh as zh
from inference.nlp.clauses import Clause, words_of
from inference.nlp.language import han_count
from inference.nlp.quantification import has_duration, is_proof, is_quick, moves_between, quantities_in

Actor = Literal["i", "we", ""]


@dataclass(frozen=True, slots=True)
class Mark:
    """What one clause does. `acts`: how many it holds; `planned`: would do, or does as a habit.

    `lasting`: holds a length of time; `standing`: says how things have been since, with a length of time.
    """

    clause: Clause
    actor: Actor = ""
    acts: int = 0
    planned: bool = False
    escalation: bool = False
    task: bool = False
    situation: bool = False
    problem: bool = False
    outcome: bool = False
    role: bool = False
    measured: bool = False
    moved: bool = False
    lasting: bool = False
    words: int = 0
    standing: bool = False
    proof: bool = False
    speculative: bool = False
    vague: bool = False
    buzz: int = 0
    blame: bool = False

    @property
    def act(self) -> bool:
        return self.acts > 0


@dataclass(frozen=True, slots=True)
class _Act:
    actor: Actor
    count: int
    planned: bool


_NO_ACT = _Act("", 0, False)


def read(clauses: tuple[Clause, ...]) -> tuple[Mark, ...]:
    """Marks in the order of the clauses; a clause without a subject inherits the one before it."""
    marks: list[Mark] = []
    last: _Act = _NO_ACT
    for clause in clauses:
        language: Language = "zh" if han_count(clause.text) >= 2 else "en"
        act = _chinese_act(clause.text, last) if language == "zh" else _english_act(clause.text, last)
        marks.append(_mark(clause, act, language))
        last = act if act.count else _carried(clause, last, language)
    return _with_outcomes(marks)


_OTHER_SUBJECT = re.compile(
    r"^(?:and |but |so |then |because )*(?:he|she|they|it|this|that|the|there|my|our|his|her|their|as|if|when|everyone|nobody|[a-z]+ (?:was|were|is|are|fell|dropped|rose|had))\b"
)
_OTHER_SUBJECT_ZH = re.compile(
    r"^(?:结果|最后|所以|后来)?(?:他|她|它|他们|领导|客户|同事|用户|公司|团队|平均|失败率|问题|当时|对方|如果|每台|这|那|因为)"
)


_OWN_SUBJECT = re.compile(
    r"^(?:and |but |so |then |because )*(?P<who>i|we)\b"
    r"|^\S{0,3}?(?P<zh>我们?)(?!的|那个?|这个?|同事|领导|老板|爸|妈|家)|(?:让|是)我"
    r"|(?:时候|当时|后来|最后|第二天|之后|于是|所以|然后)(?P<late>我们?)(?!的)"
)


def _carried(clause: Clause, last: _Act, language: Language) -> _Act:
    """The subject the next clause may inherit: this one's "I", else none once somebody else is named."""
    own = _OWN_SUBJECT.search(clause.text)
    if own:
        return _Act(_actor(own["who"] or own["zh"] or own["late"] or "我"), 0, False)
    other = _OTHER_SUBJECT_ZH if language == "zh" else _OTHER_SUBJECT
    return _NO_ACT if other.match(clause.text) else last


def _mark(clause: Clause, act: _Act, language: Language) -> Mark:
    text = clause.text
    words = zh if language == "zh" else en
    outcome = bool(words.OUTCOME.search(text))
    lasting = has_duration(text)
    standing = lasting and (bool(words.STANDING.search(text)) or (outcome and is_quick(text)))
    measured = standing or bool(quantities_in(text))
    blame = bool(words.BLAME.search(text))
    return Mark(
        clause,
        actor=act.actor,
        acts=act.count,
        planned=act.planned,
        escalation=bool(words.ESCALATION.search(text)),
        task=bool(words.TASK.search(text)),
        situation=bool(words.SITUATION.search(text)),
        problem=blame or (bool(words.PROBLEM.search(text)) and not (act.count and language == "en")),
        outcome=outcome,
        role=bool(words.ROLE.search(text)),
        measured=measured,
        moved=measured and moves_between(text),
        lasting=lasting,
        words=word_count(text),
        standing=standing,
        proof=is_proof(text),
        speculative=bool(words.SPECULATION.search(text)),
        vague=bool(words.VAGUE.search(text)),
        buzz=len(words.BUZZ.findall(text)),
        blame=blame,
    )


def _english_act(text: str, last: _Act) -> _Act:
    following = en.ACT_FOLLOWING.match(text)
    if last.actor and following and following["verb"] not in en.NON_ACTS:
        return _Act(last.actor, 1 + _joined(text[following.end() :]), last.planned)
    subject: Actor = ""
    count = 0
    for match in en.ACT.finditer(text):
        if match["verb"] not in en.NON_ACTS:
            subject = subject if subject == "i" else _actor(match["who"])
            count += 1
    if count and not en.NEGATED_ACT.search(text):
        return _Act(subject, count + _joined(text), False)
    return _english_plan(text, last)


def _joined(text: str) -> int:
    return sum(match["verb"] not in en.NON_ACTS for match in en.ACT_JOINED.finditer(text))


def _english_plan(text: str, last: _Act) -> _Act:
    planned = list(en.ACT_PLANNED.finditer(text))
    if planned:
        who = planned[0]["who"] or planned[0]["would"]
        return _Act("we" if who == "we" else "i", len(planned), True)
    if last.actor and en.ACT_FOLLOWING_PLANNED.match(text):
        return _Act(last.actor, 1, True)
    return _NO_ACT


def _actor(word: str) -> Actor:
    return "i" if word in ("i", "我", "本人") else "we"


def _done_by_oneself(text: str, last: _Act) -> bool:
    """A verb with 了 whose subject is 我, said or inherited."""
    if not zh.DONE.search(text) or zh.NON_ACT.search(text):
        return False
    own = _OWN_SUBJECT.search(text)
    return own is not None or bool(last.actor and not _OTHER_SUBJECT_ZH.match(text))


def _chinese_act(text: str, last: _Act) -> _Act:
    match = zh.ACT.search(text)
    if match and not zh.NON_ACT.match(text, match.start()):
        return _Act(_actor(match["who"]), 1, bool(zh.PLANNED.match(text, match.start())))
    planned = zh.PLANNED.match(text)
    if planned and zh.ACT_FOLLOWING.match(text[planned.end() :]):
        return _Act("i", 1, True)
    if _done_by_oneself(text, last):
        own = _OWN_SUBJECT.search(text)
        return _Act(_actor(own["zh"] or own["late"] or "我") if own else last.actor, 1, False)
    own_subject = match is not None or _OTHER_SUBJECT_ZH.match(text)
    if last.actor and not own_subject and zh.ACT_FOLLOWING.match(text):
        return _Act(last.actor, 1, last.planned)
    return _NO_ACT


def _with_outcomes(marks: list[Mark]) -> tuple[Mark, ...]:
    """Keep as outcomes only what follows an act or reports a measured change of one's own."""
    acted = False
    kept: list[Mark] = []
    for mark in marks:
        kept.append(replace(mark, outcome=_is_outcome(mark, acted)))
        acted = acted or (mark.act and not mark.planned)
    return tuple(kept)


def _is_outcome(mark: Mark, acted: bool) -> bool:
    text = mark.clause.text
    if mark.vague and not (mark.measured or mark.proof):
        return False
    own_change = mark.act and not mark.planned and mark.moved and _changes(text)
    if own_change:
        return True
    if not acted or mark.task:
        return False
    return _told_outcome(mark, text)


def _told_outcome(mark: Mark, text: str) -> bool:
    cued = bool(en.OUTCOME_CUE.search(text) or zh.OUTCOME_CUE.search(text))
    if mark.speculative and not cued:
        return False
    if mark.proof or (mark.measured and (mark.moved or cued or mark.standing) and not mark.planned):
        return True
    # A number that is not part of one's own act, told after it, is what came of it.
    if mark.measured and mark.actor != "i" and not mark.planned and not _SETTING_THE_SCENE.search(text):
        return True
    if mark.measured and not mark.planned and _changes(text) and not _OWN_SUBJECT.search(text):
        return True  # 每学期省了四千块: the subject is the deed, not the doer
    return mark.outcome and not mark.speculative


_SETTING_THE_SCENE = re.compile(r"\bthere (?:was|were|are|is)\b|\bconsist|\bteam of\b|一共有|总共有|当时有")


def _changes(text: str) -> bool:
    return bool(en.CHANGE.search(text) or zh.CHANGE.search(text))


def word_count(text: str) -> int:
    """English words plus Chinese characters at two to a word."""
    words = words_of(text)
    han = sum(1 for word in words if "\u3400" <= word <= "\u9fff")
    return len(words) - han + han // 2
