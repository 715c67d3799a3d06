"""Our own error pages, with DEBUG too: a traceback belongs into the log, never before a person.

Knows which page tells of which failure; what was logged about it is Django's business.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.signals import got_request_exception
from django.db import OperationalError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import get_language_from_request, override
from django.views.debug import ExceptionReporter

Handler = Callable[[HttpRequest], HttpResponse]
RETRY_AFTER_S = 5  # a writer holds the database for milliseconds, a backup for seconds


class _BadRequestPage(ExceptionReporter):
    """What Django would show of a refused request, when DEBUG=1: our page."""

    def get_traceback_html(self) -> str:  # type: ignore[override]
        return _text(self.request, "400.html")

    def get_traceback_text(self) -> str:  # type: ignore[override]
        return ""


def failures(get_response: Handler) -> Handler:
    """Outside every middleware that reads or writes rows: 503 while the database is busy, else 500."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.exception_reporter_class = _BadRequestPage
        response = get_response(request)
        failure = getattr(request, "failure", None)
        if failure is None:
            return response
        if isinstance(failure, OperationalError):
            busy = HttpResponse(_text(request, "503.html"), status=503)
            busy["Retry-After"] = str(RETRY_AFTER_S)
            return busy
        return HttpResponse(_text(request, "500.html"), status=500)

    return middleware


def missing_pages(get_response: Handler) -> Handler:
    """Innermost, so that the cookie for the page's forms is still set. DEBUG=0 needs none of it."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        html = response.get("Content-Type", "").startswith("text/html")
        if settings.DEBUG and response.status_code == 404 and html:
            return render(request, "404.html", status=404)
        return response

    return middleware


@receiver(got_request_exception, dispatch_uid="own error pages")
def _keep_failure(request: Any = None, **_: Any) -> None:
    """Sent where the exception is being handled; whoever gets the response gets only its page."""
    if request is not None:
        request.failure = sys.exc_info()[1]


def _text(request: HttpRequest | None, template: str) -> str:
    """A page that needs no row: rendered without the request, in its language."""
    language = settings.LANGUAGE_CODE if request is None else get_language_from_request(request)
    with override(language):
        return render_to_string(template)
