from __future__ import annotations

from django.apps import AppConfig


class InterviewsConfig(AppConfig):
    name = "apps.interviews"
    label = "interviews"
    default_auto_field = "django.db.models.BigAutoField"
