from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AssessmentConfig(AppConfig):
    name = "apps.assessment"
    label = "assessment"
    verbose_name = _("Assessment")
    default_auto_field = "django.db.models.BigAutoField"
