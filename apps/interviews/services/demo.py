"""The demo that a first start makes: an organisation, a recruiter, a candidate, two practice interviews."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from apps.accounts.models import Membership, Organisation, User
from apps.interviews.models import Candidate, InterviewLanguage, Question, Template

RECRUITER = "recruiter@demo.example"
_KIND = Question.Kind


@dataclass(frozen=True, slots=True)
class Demo:
    """`password` is known only when the recruiter was made by this very call, and never when DEBUG=0."""

    created: bool
    password: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    text: str
    kind: Question.Kind
    points: tuple[str, ...] = ()
    terms: str = ""


_ENGLISH = (
    _Asked(
        "Tell me about a time you solved a hard technical problem.",
        _KIND.BEHAVIOURAL,
        ("the situation", "what you did yourself", "what came of it, with a number"),
    ),
    _Asked(
        "Tell me about a disagreement with a colleague. How did you settle it?",
        _KIND.BEHAVIOURAL,
        ("what each of you wanted", "what you did to settle it", "how it ended"),
    ),
    _Asked(
        "A page of your web application has become slow. How do you find out why, and how do you fix it?",
        _KIND.TECHNICAL,
        (
            "measure before changing",
            "database queries or an index",
            "caching and its price",
            "check the effect",
        ),
        "PostgreSQL, Redis, index, cache, profiler, p95, CDN",
    ),
    _Asked(
        "Tell me about a mistake you made at work. What did you change afterwards?",
        _KIND.BEHAVIOURAL,
        ("the mistake as your own", "how you repaired it", "what you changed for good"),
    ),
    _Asked(
        "Why do you want to work on this kind of product, and what do you want to learn in the first year?",
        _KIND.MOTIVATIONAL,
        ("a reason of your own", "an example that shows it", "something to learn"),
    ),
)
_CHINESE = (
    _Asked(
        "请讲一个你解决过的最难的技术问题。",
        _KIND.BEHAVIOURAL,
        ("当时的情况", "你自己做了什么", "结果如何，最好有数字"),
    ),
    _Asked(
        "请讲一次你和同事意见不一致的经历，最后是怎么解决的？",
        _KIND.BEHAVIOURAL,
        ("双方各自的想法", "你为达成一致做了什么", "最后的结果"),
    ),
    _Asked(
        "线上的一个页面突然变慢了，你会怎么排查，又会怎么优化？",
        _KIND.TECHNICAL,
        ("先测量再修改", "数据库查询或索引", "缓存及其代价", "验证优化效果"),
        "MySQL, Redis, 索引, 缓存, 慢查询, 高并发, CDN",
    ),
    _Asked(
        "请讲一次你在工作中犯过的错误，之后你做了哪些改变？",
        _KIND.BEHAVIOURAL,
        ("承认是自己的错误", "怎样补救", "之后形成的做法"),
    ),
    _Asked(
        "你为什么想做这个方向的工作？入职第一年最想学到什么？",
        _KIND.MOTIVATIONAL,
        ("自己的理由", "能说明它的例子", "想学的东西"),
    ),
)


def demo_create() -> Demo:
    """Make everything at once, or nothing: a site with any organisation is somebody's and is left alone."""
    with transaction.atomic():
        if Organisation.objects.exists():
            return Demo(created=False)
        organisation = Organisation.objects.create(name="Demo", slug="demo")
        Candidate.objects.create(
            organisation=organisation, name="Demo", session_token=secrets.token_urlsafe(32)
        )
        _template(organisation, "practice-en", InterviewLanguage.EN)
        _template(organisation, "practice-zh", InterviewLanguage.ZH)
        password = _recruiter(organisation) if settings.DEBUG else ""
    return Demo(created=True, password=password)


def _recruiter(organisation: Organisation) -> str:
    password = secrets.token_urlsafe(9)
    user = User.objects.create_user(RECRUITER, password, is_staff=True)  # reads /admin/ of the demo
    Membership.objects.create(organisation=organisation, user=user, role=Membership.Role.RECRUITER)
    return password


def _template(organisation: Organisation, slug: str, language: InterviewLanguage) -> None:
    chinese = language == InterviewLanguage.ZH
    template = Template.objects.create(
        organisation=organisation,
        slug=slug,
        language=language,
        practice=True,
        title="软件工程师模拟面试" if chinese else "Practice interview for software engineers",
        summary=(
            "五个问题，约十五分钟：经历、合作、技术与动机。"
            if chinese
            else "Five questions, about fifteen minutes: experience, teamwork, technology and motivation."
        ),
    )
    Question.objects.bulk_create(
        Question(
            template=template,
            position=position,
            text=asked.text,
            kind=asked.kind,
            terms=asked.terms,
            expected_points=list(asked.points),
        )
        for position, asked in enumerate(_CHINESE if chinese else _ENGLISH, start=1)
    )
