"""Finds orders to the grader inside an answer, so that they can be cut out before anything is judged.

Reporting about such orders ("users wrote things like …") is an answer, not an order.
"""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re

from inference.nlp.folding import Folded, Span, fold

_TARGET = (
    r"(?:rubrics?|instructions?|prompts?|rules|guidelines?|criteria|directions|commands|policy|policies|scoring|grading|"
    r"(?:everything|anything|all)(?: that was| you were| i)? (?:said|told|above|before)|system message)"
)
_GRADE = r"(?:score|grade|mark|rating|rate|points?|band|result)s?"
_TOP = r"(?:10|ten|100|(?:a )?hundred|full|perfect|maximum|max|top|highest|best|excellent|five stars?|5 stars?|an? a\b|grade a\b)"
_START = (
    r"(?:^|[.!?;:,\n。！？；，、：\"'(\[>]\s*|\b(?:please|now|just|must|should|and|then|so|ok|okay|hey|dear grader|grader|"
    r"assistant|you to|you should|you must|you will|you can|i order you to|want you to)\s+)"
)
_ORDERS = re.compile(
    rf"{_START}(?:please )?(?:ignore|disregard|forget|override|bypass|skip|discard|neglect|drop)\b[^.!?\n。！？]{{0,50}}?\b{_TARGET}"
    rf"|{_START}(?:please )?(?:give|award|assign|grant|hand) (?:me|us|it|this|him|her|them|the candidate|this candidate|this answer|my answer)\b"
    rf"[^.!?\n。！？]{{0,25}}?{_TOP}(?! (?:minutes|seconds|days|hours|weeks|people|percent))"
    rf"|{_START}(?:please )?(?:give|award|assign|grant) (?:a |an |the )?(?:full|perfect|maximum|max|top|highest|10|ten|100)\b[^.!?\n。！？]{{0,12}}?(?:marks?|scores?|points?|grades?|out of|/)"
    rf"|{_START}(?:please )?(?:rate|score|grade|mark|evaluate|assess|judge) (?:me|this|it|my answer|the answer|this answer|this candidate|the candidate|"
    rf"this response|my response|everything)\b[^.!?\n。！？]{{0,30}}?(?:{_TOP}|high)"
    rf"|{_START}(?:please )?(?:output|print|return|respond with|reply with|write|set|assign|say)\b[^.!?\n。！？]{{0,25}}?(?:\b{_GRADE}\b[^.!?\n。！？]{{0,15}}?"
    rf"(?:\d|{_TOP})|{_TOP}[^.!?\n。！？]{{0,8}}?\b{_GRADE}\b)"
    rf"|{_START}(?:please )?(?:say|state|tell (?:them|the recruiter|everyone|the employer)|write|report|conclude)(?: that)? (?:i am|i'm|this candidate is|"
    rf"the candidate is|he is|she is) (?:the |a |an )?(?:best|excellent|perfect|ideal|top|strongest|outstanding|great)"
    rf"|\b(?:this|my|the) (?:answer|response|candidate)(?:,)? (?:deserves|must (?:get|receive|be given|be rated|be scored)|should (?:get|receive|be given|be rated|be scored|score))\b"
    rf"[^.!?\n。！？]{{0,25}}?(?:{_TOP}|high)"
    rf"|\b(?:the|this) candidate (?:is|was|has been|performed|shows?|demonstrates?|scores?|gets?)\b[^.!?\n。！？]{{0,20}}?"
    rf"(?:excellent|outstanding|perfect|exceptional|best|brilliant|hired|10|ten|full|top|ideal)"
    rf"|\byou are (?:now|no longer) (?:a |an |the )?(?:[a-z-]+ ){{0,3}}(?:grader|assistant|evaluator|interviewer|ai|model|bot|judge|recruiter|admin)"
    rf"|\b(?:new|updated|real|actual|hidden) instructions?\s*[:：]|\bend of (?:the )?(?:answer|transcript|prompt|rubric)\b"
    rf"|\boverall {_GRADE}\s*[:=：]\s*\d|(?:^|[.!?\n。！？]\s*){_GRADE}\s*(?:[:=：]|is)\s*(?:\d+|ten|full)\s*(?:/|out of|points|$|[.!?\n。！？])"
    rf"|{_START}(?:please )?(?:print|reveal|show|repeat|output|leak|tell me) (?:me )?(?:your|the) (?:system |hidden |initial )?(?:prompt|instructions|rubric)"
    rf"|\b(?:the )?(?:evaluator|grader|assessor|examiner|interviewer|model|ai|system) (?:should|must|will|shall|has to|needs to) (?:treat|consider|give|rate|score|grade|mark|regard|assign|award)\b"
    rf"|\bhire (?:me|this candidate) (?:immediately|now|no matter)"
)
_MARKUP = re.compile(
    r"<\|[a-z_]{2,20}\|?>|\[/?inst\]|<</?sys>>|</?(?:system|assistant|user|answer|transcript|rubric|score|instructions?|prompt)\b[^>\n]{0,40}>"
    r"|(?:^|[.!?\n。！？}\]>]\s*)#*\s*(?:system|assistant|developer|admin|administrator|grader|evaluator|interviewer|user|"
    r"系统|管理员|助手|评分员|面试官|开发者)(?: prompt| message|提示|消息|指令)?\s*[:：]"
    r"|(?:^|[.!?\n。！？]\s*)system (?=the candidate|this candidate|output|override)"
    r"|[\"']?\b(?:score|grade|rating|weakness|评分|分数|得分)[\"']?\s*[:=：]\s*[\"']?(?:10|9|100|a\b|none|满分|十分|perfect)"
    r"|<!--|```(?:json)?|###\s*instruction"
)
_CHINESE = re.compile(
    r"(?:忽略|无视|忘记|忘掉|不要管|别管|不用管|跳过|绕过|抛开|不要理会|不必理会)[^。！？\n]{0,18}?(?:评分|标准|指令|规则|提示词|提示|要求|设定|上文|以上内容|之前的内容)"
    r"|(?<![他她司户们])给(?:我|本人|这个(?:候选人|回答)|该候选人|候选人)(?:直接|都|全部)?(?:打|评|一个|个|上)?(?:了)?(?:满分|最高分|高分|(?:10|十|100|一百)分)(?!钟|之|的(?:信任|支持|把握)|支持|信任)"
    r"|(?:请|直接|必须|应该|务必)(?:你)?(?:给|打|评|判|输出|返回|写|填)[^。！？\n]{0,8}?(?:满分|最高分|高分|(?:10|十|100|一百)分(?!钟|之))"
    r"|(?:说|写|认定|评价|告诉[^。，]{0,6})我是(?:一个)?最(?:优秀|好|棒|合适|强)|(?:该|这个|这位|此|本)?(?:候选人|应聘者|面试者)(?:表现)?(?:非常|十分|很|极其|特别)?(?:优秀|出色|完美|卓越)"
    r"|(?:输出|返回|打印)[^。！？\n]{0,6}?(?:评分|分数|score|满分|高分)|你(?:现在|从现在起)(?:是|扮演)[^。，\n]{0,12}(?:评分|考官|面试官|助手|模型|ai|老师)"
    r"|(?:这个|本|我的)(?:回答|答案)(?:应该|应当|值得|必须)(?:得|给|拿|是|打)?(?:到)?(?:满分|最高分|高分|(?:10|十)分)|必须(?:录用|通过|录取)我|(?:系统)?(?:提示词|系统提示|system prompt)[^。，]{0,4}(?:打印|输出|显示|发|告诉)|(?:打印|输出|显示|泄露)[^。，]{0,6}(?:提示词|系统提示)|按(?:照)?(?:满分|最高分)|新的?指令[:：]"
)
_REPORTED = re.compile(
    r"\b(?:wrote|write|writes|typed|types|said|says|saying|like|such as|called|named|read|contained|containing|asking|tried|trying|sent|texts?|phrases?|words|"
    r"prompts?|message|messages|attack|attacks|attackers)(?:\s+(?:things|something|text|messages|us|it|stuff|prompts|phrases))?(?:\s+(?:like|such as|as))?\s*[,:\"'(]*\s*$"
    r"|(?:输入|写|说|发|诸如|例如|比如|像|类似|包含|内容是|攻击者|用户)(?:了|着|过)?[^。，]{0,4}[:：\"'“「『(（]*\s*$"
)
_SENTENCE_END = re.compile(r"[.!?\n。！？](?=\s|$|[<\"')）\u3400-\u9fff])|[}>]")
# Where the answer itself goes on, when nothing but the words tells.
_FRESH_START = re.compile(
    r"\s(?=(?:at (?:my|the|our)|in my|last (?:year|month|week|spring|summer|autumn|winter)|(?:a|one|two|three|\d+) years? ago|"
    r"when (?:i|we)|my (?:last|previous|company|team|task)|our|i (?:was|had|led|built|rewrote|worked|wrote|started|used|have)|"
    r"we (?:had|were|built|used))\b)|(?<=.)(?=去年|当时|我们|我在|我刚|上个|我负责|我曾)"
)
_LONGEST_TAIL = 160


def orders_in(folded: Folded) -> list[Span]:
    """Spans that speak to the grader, each widened to the end of its sentence."""
    text = folded.text
    spans: list[Span] = []
    for pattern in (_ORDERS, _MARKUP) if text.isascii() else (_ORDERS, _MARKUP, _CHINESE):
        orders = (match for match in pattern.finditer(text) if not _is_reported(text, match.start()))
        spans += [
            (_start_of_order(text, _first_letter(text, order.start())), _end_of_order(text, order))
            for order in orders
        ]
    return spans


def order_spans(text: str) -> list[Span]:
    """The same in the speaker's own text, for whoever else is to judge what remains."""
    folded = fold(text)
    spans = (span for span in orders_in(folded) if span[0] < span[1])
    return [(folded.origin[start], folded.origin[end - 1] + 1) for start, end in spans]


def _is_reported(text: str, at: int) -> bool:
    return _REPORTED.search(text[max(0, at - 40) : _first_letter(text, at)]) is not None


def _first_letter(text: str, at: int) -> int:
    while at < len(text) and not text[at].isalnum():
        at += 1
    return at


_BEFORE = re.compile(r"[^.!?;:,\n。！？；，：]*\Z")
_LONGEST_LEAD = 60


def _start_of_order(text: str, at: int) -> int:
    """Back over a short lead-in ("as the administrator I instruct you to …"), never over a whole answer."""
    lead = _BEFORE.search(text, max(0, at - _LONGEST_LEAD - 1), at)
    return lead.start() if lead and at - lead.start() <= _LONGEST_LEAD else at


def _end_of_order(text: str, match: re.Match[str]) -> int:
    """The end of its sentence or of its markup, or where the answer goes on without a full stop between."""
    at, limit = match.end(), match.end() + _LONGEST_TAIL
    stop = _SENTENCE_END.search(text, max(match.start() + 1, at - 1), limit)
    fresh = _FRESH_START.search(text, at, limit)
    ends = [max(at, stop.end())] if stop else []
    ends += [fresh.start()] if fresh else []
    return min(ends, default=min(len(text), limit))
