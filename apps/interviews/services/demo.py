"""The demo that a first start makes: an organisation, a recruiter, a candidate, two practice interviews."""
# ruff: noqa: E501 - a point with its other words is one line

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
    """`points` only where there is something to know: what happened and what came of it is read by STAR anyway."""

    text: str
    kind: Question.Kind
    points: tuple[str, ...] = ()
    terms: str = ""


_ENGLISH = (
    _Asked(
        "Tell me about a time you solved a hard technical problem.",
        _KIND.BEHAVIOURAL,
    ),
    _Asked(
        "Tell me about a disagreement with a colleague. How did you settle it?",
        _KIND.BEHAVIOURAL,
    ),
    _Asked(
        "A page of your web application has become slow. How do you find out why, and how do you fix it?",
        _KIND.TECHNICAL,
        (
            "measuring before changing (profil, trac, slow query log, explain, metric, dashboard, flame graph, p95, devtools)",
            "database queries or an index (n+1, sql, join, full scan)",
            "caching and its price (cdn, redis, stale, invalidat, ttl)",
            "checking the effect afterwards (compare, before and after, load test, monitor, again, went from, fell)",
        ),
        "PostgreSQL, Redis, index, cache, profiler, p95, CDN",
    ),
    _Asked(
        "Tell me about a mistake you made at work. What did you change afterwards?",
        _KIND.BEHAVIOURAL,
    ),
    _Asked(
        "Why do you want to work on this kind of product, and what do you want to learn in the first year?",
        _KIND.MOTIVATIONAL,
    ),
)
_CHINESE = (
    _Asked(
        "请讲一个你解决过的最难的技术问题。",
        _KIND.BEHAVIOURAL,
    ),
    _Asked(
        "请讲一次你和同事意见不一致的经历，最后是怎么解决的？",
        _KIND.BEHAVIOURAL,
    ),
    _Asked(
        "线上的一个页面突然变慢了，你会怎么排查，又会怎么优化？",
        _KIND.TECHNICAL,
        (
            "先测量再修改（监控、慢查询日志、链路、火焰图、耗时、profil、explain、定位）",
            "数据库查询或索引（sql、慢查询、全表扫描、n+1）",
            "缓存及其代价（redis、cdn、失效、一致性、过期）",
            "验证优化效果（压测、对比、p95、p99、降到、观察、灰度）",
        ),
        "MySQL, Redis, 索引, 缓存, 慢查询, 高并发, CDN",
    ),
    _Asked(
        "请讲一次你在工作中犯过的错误，之后你做了哪些改变？",
        _KIND.BEHAVIOURAL,
    ),
    _Asked(
        "你为什么想做这个方向的工作？入职第一年最想学到什么？",
        _KIND.MOTIVATIONAL,
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
