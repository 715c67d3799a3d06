from __future__ import annotations

from django.urls import path

from apps.recruiting import views

app_name = "recruiting"
urlpatterns = [
    path("", views.interviews, name="interviews"),
    path("interviews/<uuid:public_id>/", views.interview, name="interview"),
    path("interviews/<uuid:public_id>/answers/<int:number>/audio/", views.audio, name="audio"),
    path(
        "interviews/<uuid:public_id>/answers/<int:number>/late-audio/retry/",
        views.correction_retry,
        name="correction_retry",
    ),
    path("interviews/<uuid:public_id>/analysis/", views.analysis, name="analysis"),
    path("interviews/<uuid:public_id>/analysis/retry/", views.analysis_retry, name="analysis_retry"),
]
