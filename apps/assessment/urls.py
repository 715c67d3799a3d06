from __future__ import annotations

from django.urls import path

from apps.assessment import views

app_name = "assessment"
urlpatterns = [
    path("interviews/<uuid:public_id>/report/", views.report, name="report"),
]
