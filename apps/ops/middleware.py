"""One response header that no installed library sets."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def permissions_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Let our own pages use the microphone and nothing else."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Permissions-Policy"] = "microphone=(self), camera=(), geolocation=(), autoplay=(self)"
        return response

    return middleware
