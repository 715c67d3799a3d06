from __future__ import annotations

from django.urls import path

from apps.interviews import views

app_name = "interviews"
urlpatterns = [
    path("", views.landing, name="landing"),
    path("practice/<uuid:template_id>/", views.practice, name="practice"),
    path("interviews/<uuid:public_id>/", views.live, name="live"),
    path("interviews/<uuid:public_id>/microphone/", views.microphone, name="microphone"),
    path("interviews/<uuid:public_id>/ticket/", views.ticket, name="ticket"),
    path("interviews/<uuid:public_id>/answers/<int:number>/audio/", views.audio, name="audio"),
]
