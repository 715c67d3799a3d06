"""Every address of the site."""

from __future__ import annotations

from allauth.account import views as account
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.urls import include, path


def favicon(request: HttpRequest) -> HttpResponse:
    """For pages that are not ours, the administration's: browsers ask for it unbidden."""
    return redirect(static("favicon.svg"))


# Of allauth's addresses only these: there is no mail set up, so nothing may write a reset link anywhere.
account_urls = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("inactive/", account.account_inactive, name="account_inactive"),
    path("signup/", account.signup, name="account_signup"),
    path("password/change/", account.password_change, name="account_change_password"),
]
urlpatterns = [
    path("", include("apps.interviews.urls")),
    path("", include("apps.assessment.urls")),
    path("", include("apps.ops.urls")),
    path("recruiting/", include("apps.recruiting.urls")),
    path("", include("apps.privacy.urls")),
    path("accounts/", include(account_urls)),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
    path("favicon.ico", favicon),
]
