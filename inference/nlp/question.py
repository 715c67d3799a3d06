"""What kind of answer a question asks for, read from its text when nobody said so.

Knows question wordings, nothing of answers.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from inference.assessment import QuestionKind, QuestionSpec
from inference.nlp.folding import fold

# A kind may ask for different shapes: an episode, a habit, a career, a plan, an explanation, reasons, a fact.
# A follow-up asks for one thing, so its answer has no shape to keep.
Form = Literal["story", "approach", "career", "design", "explain", "motive", "fact", "yes_no", "follow_up"]
# Where "I would …" and "I always …" answer the question.
PLANS_COUNT: frozenset[Form] = frozenset(("design", "approach", "explain", "follow_up"))

_STORY = re.compile(
    r"\b(?:tell (?:me|us) (?:about|of) (?:a|an|one|the|your|how you)(?! bit about)\b|describe (?:a|an|the|your|one|how you)\b|"
    r"give (?:me|us) an? example|an? (?:time|situation|occasion|example) (?:when|where|in which|you)|share (?:a|an)\b|"
    r"walk (?:me|us) through (?:a|an|the|how you)\b|have you ever (?:had|failed|dealt|faced|disagreed|missed|made)|"
    r"what(?:'s| is| was| has been) (?:your|the) (?:biggest|greatest|hardest|most|toughest|worst|proudest|best) "
    r"(?!strength|weakness)|\b(?:hardest|toughest|most difficult|most challenging) (?:bug|problem|project|decision))|"
    r"(?:讲|说|谈|聊|分享|描述|举|介绍)(?:一?讲|一?说|一?谈|一?聊|一下|述)?(?:一)?(?:个|次|件|段|下)?.{0,24}"
    r"(?:经历|例子|事情|事|时候|问题|失败|成就|错误|冲突|项目|案例|决定|挑战)|举例|举个例子|有没有(?:过|遇到)|遇到过|"
    r"最(?:大|难|成功|失败|有成就|自豪|骄傲|困难|有挑战)[^？?]{0,12}(?:是什么|问题|失败|项目|挑战|成就|一次|经历)"
)
_CAREER = re.compile(
    r"\b(?:walk (?:me|us) through|tell (?:me|us) about|describe|summari[sz]e|talk (?:me|us) through) your "
    r"(?:career|background|resume|cv|experience|work history|current role|current job|self)|about yourself|"
    r"introduce yourself|自我介绍|介绍(?:一下)?(?:你)?自己|(?:职业|工作|过往)(?:经历|履历|背景)"
)
_DESIGN = re.compile(
    r"\b(?:how (?:would|could|do|should) (?:you|we|one) (?:design|build|implement|architect|scale|model|structure|migrate|test|secure)|"
    r"^design\b|design (?:a|an|the)\b(?!ated)|architecture (?:for|of) )|"
    r"(?:如何|怎么|怎样)(?:去|来)?(?:设计|实现|搭建|构建|架构|扩展|落地)|设计一(?:个|套|款)"
)
# "How would you …" asks for a plan of a thing, unless people are in it.
_PLAN = re.compile(r"\bhow (?:would|should) (?:you|we) |如何|怎么|怎样")
_PEOPLE = re.compile(
    r"\b(?:team|teammates?|colleagues?|coworkers?|customers?|clients?|conflicts?|boss|manager|someone|somebody|people|person|feedback|deadline|pressure|stress|disagree\w*|"
    r"handle|deal|react|respond|motivate|convince|prioriti\w+|describe|feel|resolve|stakeholders?|students?|patients?|users? who|employees?|lead|coach|mentor)\b"
    r"|团队|同事|客户|领导|老板|冲突|分歧|压力|别人|他人|下属|员工|沟通|意见|批评|反馈|学生|病人|带领|平衡|看待|你自己|时间"
)
_EXPLAIN = re.compile(
    r"\b(?:explain|difference|differ|compare|what (?:is|are|does|do) (?:a|an|the )?(?!your|you\b)|how (?:does|do|is|are) (?!you\b)|"
    r"what happens|why (?:is|are|does|do) (?!you\b)|when would you (?:use|choose|prefer)|pros and cons|trade-?offs?|"
    r"how (?:would|do) you (?:debug|optimi[sz]e|find|diagnose|monitor|speed up|reduce|improve|measure|profile))|"
    r"解释|区别|原理|是什么(?!.*你)|为什么(?!.{0,2}你)|(?:如何|怎么|怎样)(?:优化|排查|定位|保证|解决|监控|避免|提升|处理高)|优缺点|对比|什么是"
)
_MOTIVE = re.compile(
    r"\b(?:why (?:do|did|would|are|should|have|were) (?:you|we|i)\b|what (?:motivates|drives|attracts|interests|excites|made) you|"
    r"where do you see yourself|(?:greatest|biggest|main|key)? ?(?:strengths?|weakness(?:es)?)\b|what are you looking for|"
    r"what do you (?:like|enjoy|want|expect|hope)|career (?:goals?|plans?)|why (?:this|our)|interested in (?:this|our|the))|"
    r"为什么(?:你)?(?:想|要|会|选|离开|加入|来|应聘|应该)|为什么.{0,4}(?:录用|选择|选你)|你为(?:什么|何)|(?:优点|缺点|优势|劣势|长处|短板)|职业规划|吸引你|"
    r"(?:未来|五年|三年).{0,8}(?:规划|打算|目标|计划)|期望(?!的?薪)|动力|看重"
)
_YES_NO = re.compile(
    r"^(?:(?:so|and|ok|well)[, ]+)?(?:have|do|does|did|are|is|can|could|will|would|were|was) (?:you|there|your|we)\b|"
    r"(?:吗|(?<![什怎那多这要])么|是否|有没有|是不是|能不能|会不会|可不可以)"
)
_FACT = re.compile(
    r"\b(?:how (?:many|much|long|often|soon|big|old)|which|when (?:can|did|do|are|could|will)|where (?:are|did|do)|who (?:is|was|did)|"
    r"what (?:is|are|was|were) your (?:salary|notice|current|last|availability|job title|degree)|"
    r"what (?:tools?|languages?|technolog\w+|frameworks?|stack|databases?|certificat\w+|size|degree)|list )|"
    r"几年|多少|多久|多长|哪些|哪个|哪家|哪里|什么时候|何时|几个|薪资|薪水|到岗"
)
_HABIT = re.compile(
    r"\bhow (?:do|would) you|what would you do|how are you\b|what is your (?:approach|way|process)|(?:如何|怎么|怎样)"
)

_ORDER: tuple[tuple[Form, re.Pattern[str]], ...] = (
    ("career", _CAREER),
    ("design", _DESIGN),
    ("story", _STORY),
    ("motive", _MOTIVE),
    ("fact", _FACT),
    ("explain", _EXPLAIN),
    ("yes_no", _YES_NO),
    ("approach", _HABIT),
)
_KIND_OF: dict[Form, QuestionKind] = {
    "story": "behavioural",
    "approach": "behavioural",
    "career": "behavioural",
    "design": "technical",
    "explain": "technical",
    "motive": "motivational",
    "fact": "factual",
    "yes_no": "factual",
}
_DEFAULT_FORM: dict[QuestionKind, Form] = {
    "behavioural": "story",
    "technical": "explain",
    "motivational": "motive",
    "factual": "fact",
}


def kind_and_form(question: QuestionSpec) -> tuple[QuestionKind, Form]:
    """The kind as given, else inferred; the form always fits the kind. A follow-up is of its main question's kind."""
    if question.follow_up_to:
        kind, _ = kind_and_form(replace(question, text=question.follow_up_to, follow_up_to=""))
        return kind, "follow_up"
    text = fold(question.text[:600]).text.strip()
    found = [form for form, pattern in _ORDER if pattern.search(text)]
    if _PLAN.search(text) and not _PEOPLE.search(text) and found[-1:] == ["approach"] and len(found) == 1:
        found = ["design"]
    if question.kind is None:
        form: Form = found[0] if found else "story"
        return _KIND_OF[form], form
    fitting = [form for form in found if _KIND_OF[form] == question.kind]
    return question.kind, fitting[0] if fitting else _DEFAULT_FORM[question.kind]
