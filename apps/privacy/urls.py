from __future__ import annotations

from django.urls import path

from apps.privacy import views

app_name = "privacy"
urlpatterns = [
    path("privacy/", views.about, name="about"),
    path("interviews/<uuid:public_id>/notice/", views.notice, name="notice"),
    path("interviews/<uuid:public_id>/delete/", views.delete, name="delete"),
]
