"""Recruiters' pages. Whatever belongs to an organisation that is not theirs does not exist for them (404)."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRefresh

from apps.accounts.selectors import organisations_for
from apps.assessment.selectors import report_for_interview
from apps.interviews.media import answer_audio
from apps.interviews.models import Interview
from apps.interviews.services.live import ANALYSE, CORRECT
from apps.ops.jobs import job_retry
from apps.recruiting.listing import PAGE_SIZE, SORTS, Listing, interviews_listed
from apps.recruiting.review import analysis_state, answers_reviewed


@require_safe
@login_required
@never_cache
@vary_on_headers("HX-Request")
def interviews(request: HttpRequest) -> HttpResponse:
    """The list; for htmx only the part that filters and pages change."""
    organisations = organisations_for(request.user)
    listing = Listing.from_query(request.GET)
    pages = Paginator(interviews_listed(organisations, listing), PAGE_SIZE)
    context = {
        "listing": listing,
        "page": pages.get_page(request.GET.get("page")),
        "columns": {name: listing.sorted_by(name) for name in SORTS},
        "organisations": list(organisations),
    }
    return render(request, _template(request, "interviews", "_interviews"), context)


@require_safe
@login_required
@never_cache
def interview(request: HttpRequest, public_id: UUID) -> HttpResponse:
    found = _interview(request, public_id)
    answers = answers_reviewed(found)
    context = {
        "interview": found,
        "report": report_for_interview(found),
        "answers": answers,
        "follow_ups": sum(answer.score is not None for answer in answers if answer.turn.kind != "main"),
        "analysis": analysis_state(found),
        "never_asked": found.template.questions.count() - found.turns.filter(kind="main").count(),
    }
    return render(request, "recruiting/interview.html", context)


@require_safe
@login_required
def audio(request: HttpRequest, public_id: UUID, number: int) -> HttpResponseBase:
    return answer_audio(request, _interview(request, public_id), number)


@require_safe
@login_required
@never_cache
def analysis(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Asked every few seconds by a page that waits; once there is news, the page loads again."""
    found = _interview(request, public_id)
    state = analysis_state(found)
    if not state.under_way and request.headers.get("HX-Request"):
        return HttpResponseClientRefresh()
    return render(request, "recruiting/_analysis.html", {"interview": found, "analysis": state})


@require_POST
@login_required
def analysis_retry(request: HttpRequest, public_id: UUID) -> HttpResponse:
    found = _interview(request, public_id)
    if not job_retry(kind=ANALYSE, subject_id=found.pk):
        messages.info(request, _("Nothing to try again: the analysis has not failed."))
    return redirect("recruiting:interview", public_id=public_id)


@require_POST
@login_required
def correction_retry(request: HttpRequest, public_id: UUID, number: int) -> HttpResponse:
    turn = get_object_or_404(_interview(request, public_id).turns, number=number)
    if not job_retry(kind=CORRECT, subject_id=turn.pk):
        messages.info(request, _("Nothing to try again: the late audio was heard, or is being heard."))
    return redirect("recruiting:interview", public_id=public_id)


def _interview(request: HttpRequest, public_id: UUID) -> Interview:
    mine = Interview.objects.filter(organisation__in=organisations_for(request.user))
    return get_object_or_404(
        mine.select_related("template", "candidate", "organisation"), public_id=public_id
    )


def _template(request: HttpRequest, page: str, part: str) -> str:
    """The part alone for htmx, the whole page for everything else, also when htmx restores its history."""
    asks_part = request.headers.get("HX-Request") and not request.headers.get("HX-History-Restore-Request")
    return f"recruiting/{part if asks_part else page}.html"
