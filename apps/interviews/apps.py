from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class InterviewsConfig(AppConfig):
    name = "apps.interviews"
    label = "interviews"
    verbose_name = _("Interviews")
    default_auto_field = "django.db.models.BigAutoField"
