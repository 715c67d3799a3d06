from __future__ import annotations

from django.urls import URLPattern

app_name = "interviews"
urlpatterns: list[URLPattern] = []
