from __future__ import annotations

from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "apps.ops"
    label = "ops"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # heartbeat connects itself to Celery's signals; metrics shows its figures from the first scrape on.
        from apps.ops import heartbeat, metrics  # noqa: F401, PLC0415
