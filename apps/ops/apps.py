from __future__ import annotations

from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "apps.ops"
    label = "ops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from apps.ops import heartbeat  # noqa: F401, PLC0415 - connects itself to Celery's signals
