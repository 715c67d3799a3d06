"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("apps.interviews.urls")),
    path("", include("apps.assessment.urls")),
    path("", include("apps.ops.urls")),
    path("recruiting/", include("apps.recruiting.urls")),
    path("", include("apps.privacy.urls")),
    path("accounts/", include("allauth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("admin/", admin.site.urls),
]
