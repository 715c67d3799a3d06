from __future__ import annotations

from django.apps import AppConfig


class AssessmentConfig(AppConfig):
    name = "apps.assessment"
    label = "assessment"
    default_auto_field = "django.db.models.BigAutoField"
