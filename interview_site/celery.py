"""The Celery application: background priorities P2 and P3 only. Live work never waits here."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview_site.settings")
app = Celery("interview_site")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
