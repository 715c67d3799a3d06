"""The notice before the microphone, the consent to it, and the way out: deleting an interview."""

from __future__ import annotations

import logging
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from apps.interviews.services import entry
from apps.interviews.views import own_interview, typed_only
from apps.privacy.notice import current_versions, notice_for
from apps.privacy.services import EraseError, interview_delete

logger = logging.getLogger(__name__)


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """The notice by itself, for anybody who wants to read it before choosing."""
    return render(request, "privacy/about.html", {"notice": notice_for(get_language() or "en")})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def notice(request: HttpRequest, public_id: UUID) -> HttpResponse:
    interview = own_interview(request, public_id)
    if interview.consented_at is not None:
        return redirect("interviews:microphone", public_id=public_id)
    problem = _consent_problem(request)
    if request.method == "POST" and not problem:
        entry.consent_record(interview=interview, notice_version=request.POST["notice_version"])
        return redirect("interviews:microphone", public_id=public_id)
    context = {
        "interview": interview,
        "notice": notice_for(get_language() or "en"),
        "problem": problem,
        "typed_only": typed_only(),
    }
    return render(request, "privacy/notice.html", context, status=400 if problem else 200)


def _consent_problem(request: HttpRequest) -> str:
    if request.method != "POST":
        return ""
    if request.POST.get("notice_version") not in current_versions():
        return _("This notice has changed since you opened the page. Please read the new one.")
    if request.POST.get("agree") != "yes":
        return _("Tick the box to agree. Without it nothing can be recorded, so the interview cannot start.")
    return ""


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def delete(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """Ask once, then erase."""
    interview = own_interview(request, public_id)
    if request.method != "POST":
        return render(request, "privacy/delete.html", {"interview": interview})
    try:
        interview_delete(interview=interview)
    except EraseError:
        logger.exception("interview %s: a file stays behind", public_id.hex)
        messages.error(
            request,
            _("Words and scores are deleted, but a recording stayed behind. The operator can see why."),
        )
    else:
        messages.success(request, _("The interview is deleted: recording, words, scores and report."))
    return redirect("interviews:landing")
