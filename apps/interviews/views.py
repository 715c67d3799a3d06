"""The candidate's pages up to the last question: choose, check the microphone, answer.

A candidate is bound to the login session; for every other session their interviews do not exist (404).
"""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe

from apps.interviews.media import answer_audio
from apps.interviews.models import Interview, Template
from apps.interviews.page_text import live_text, microphone_text
from apps.interviews.selectors import lacks_audio
from apps.interviews.services import entry
from apps.interviews.services.seats import ticket_issue
from apps.ops.engine_settings import why_no_speech
from apps.ops.metrics import FALLBACKS

MINUTES_PER_QUESTION = 3
RETRY_AFTER_S = 5
logger = logging.getLogger(__name__)


@require_safe
@never_cache
def landing(request: HttpRequest) -> HttpResponse:
    templates = Template.objects.filter(practice=True).annotate(questions_count=Count("questions"))
    page_language = (get_language() or "en")[:2]
    offered = [
        {"template": template, "minutes": template.questions_count * MINUTES_PER_QUESTION}
        for template in sorted(templates, key=lambda one: (one.language != page_language, one.title))
    ]
    mine = entry.interviews_for_session(request.session).exclude(consented_at=None)
    context = {"offered": offered, "mine": mine[:20], "typed_only": typed_only()}
    return render(request, "interviews/landing.html", context)


@require_POST
def practice(request: HttpRequest, template_id: UUID) -> HttpResponse:
    template = get_object_or_404(Template, public_id=template_id, practice=True)
    candidate = entry.candidate_for_session(request.session, organisation=template.organisation)
    interview = entry.interview_create(template=template, candidate=candidate)
    return redirect("privacy:notice", public_id=interview.public_id)


@require_GET
@never_cache
def microphone(request: HttpRequest, public_id: UUID) -> HttpResponse:
    interview = own_interview(request, public_id)
    if elsewhere := _not_live(interview):
        return elsewhere
    if typed_only():
        return redirect("interviews:live", public_id=public_id)
    return render(request, "interviews/microphone.html", {"interview": interview, "text": microphone_text()})


@require_GET
@never_cache
def live(request: HttpRequest, public_id: UUID) -> HttpResponse:
    interview = own_interview(request, public_id)
    if elsewhere := _not_live(interview):
        return elsewhere
    context = {
        "interview": interview,
        "text": live_text(),
        "typed_only": typed_only(),
        "starts_typing": typed_only() or request.GET.get("input") == "text",
    }
    return render(request, "interviews/live.html", context)


@require_POST
@never_cache
def ticket(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """A fresh ticket for one socket (W7). 403 without consent, 409 once the interview is over.

    With `late=1` an interview that is over can still be entered while it lacks audio.
    """
    try:
        return _ticket(request, public_id)
    except (OperationalError, InterfaceError) as exc:
        logger.warning("no ticket: the database is away (%s)", type(exc).__name__)
        FALLBACKS.labels("ticket_refused").inc()
        away = JsonResponse({"error": "busy"}, status=503)
        away["Retry-After"] = str(RETRY_AFTER_S)
        return away


def _ticket(request: HttpRequest, public_id: UUID) -> HttpResponse:
    interview = own_interview(request, public_id)
    if interview.consented_at is None:
        return JsonResponse({"error": "consent"}, status=403)
    over = interview.status == Interview.Status.FINISHED
    if over and not (request.GET.get("late") == "1" and lacks_audio(interview)):
        return JsonResponse({"error": "finished"}, status=409)
    raw = ticket_issue(interview=interview, session_token=entry.session_token(request.session))
    return JsonResponse({"ticket": raw})


@require_safe
def audio(request: HttpRequest, public_id: UUID, number: int) -> HttpResponseBase:
    return answer_audio(request, own_interview(request, public_id), number)


def typed_only() -> bool:
    """Whether no answer can be heard on this site today: no page should speak of a microphone then."""
    return bool(why_no_speech())


def own_interview(request: HttpRequest, public_id: UUID) -> Interview:
    """This session's interview. Raises Http404 for anybody else's: not even its existence is told."""
    interview = entry.interview_for_session(request.session, public_id)
    if interview is None:
        raise Http404("no such interview")
    return interview


def _not_live(interview: Interview) -> HttpResponse | None:
    """Where to go instead: the notice comes before any microphone, the report after the last answer."""
    if interview.consented_at is None:
        return redirect("privacy:notice", public_id=interview.public_id)
    if interview.status == Interview.Status.FINISHED:
        return redirect("assessment:report", public_id=interview.public_id)
    return None
