"""The site's addresses with two more, whose views fail, for tests of what a person sees then."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.urls import path

from interview_site.urls import urlpatterns as site


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("what somebody said")


def suspicious(request: HttpRequest) -> HttpResponse:
    raise SuspiciousOperation("what somebody sent")


def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


urlpatterns = [
    path("broken/", broken),
    path("suspicious/", suspicious),
    path("forbidden/", forbidden),
    *site,
]
