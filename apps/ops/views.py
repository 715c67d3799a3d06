"""Addresses for machines: is it alive, can it take an interview, what are its figures."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django_prometheus.exports import ExportToDjangoView

from apps.ops.readiness import readiness

LOOPBACK = {"127.0.0.1", "::1"}
# A proxy on this machine makes every visitor's address loopback, but it says for whom it asks.
PROXY_HEADERS = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_X_FORWARDED_PROTO")


@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. What it depends on is readyz's business: a restart would not mend that."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    found = readiness()
    return JsonResponse(found.as_json(), status=200 if found.ready else 503)


@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    if not (_from_this_machine(request) or _has_token(request)):
        return HttpResponse("Ask from this machine, or send METRICS_TOKEN as a bearer token.\n", status=403)
    answer: HttpResponse = ExportToDjangoView(request)
    return answer


def _from_this_machine(request: HttpRequest) -> bool:
    through_proxy = any(header in request.META for header in PROXY_HEADERS)
    return request.META.get("REMOTE_ADDR") in LOOPBACK and not through_proxy


def _has_token(request: HttpRequest) -> bool:
    sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    wanted = settings.METRICS_TOKEN
    return bool(wanted) and secrets.compare_digest(sent.encode(), wanted.encode())
