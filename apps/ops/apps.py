from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class OpsConfig(AppConfig):
    name = "apps.ops"
    label = "ops"
    verbose_name = _("Operation")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # heartbeat connects itself to Celery's signals; metrics shows its figures from the first scrape on.
        from apps.ops import heartbeat, metrics  # noqa: F401, PLC0415
