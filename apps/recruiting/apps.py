from __future__ import annotations

from django.apps import AppConfig


class RecruitingConfig(AppConfig):
    name = "apps.recruiting"
    label = "recruiting"
    default_auto_field = "django.db.models.BigAutoField"
