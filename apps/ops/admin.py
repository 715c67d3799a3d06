"""Background jobs, for operators: what waits, what runs, what died and why."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from apps.ops.admin_lookups import OfferedLookups
from apps.ops.jobs import job_retry
from apps.ops.models import Job


@admin.register(Job)
class JobAdmin(OfferedLookups):
    """Rows of the outbox. They are retried, never edited."""

    list_display = (
        "kind",
        "subject_id",
        "status",
        "attempts",
        "reason",
        "priority",
        "created_at",
        "finished_at",
    )
    list_filter = ("status", "kind")
    search_fields = ("public_id", "subject_id")
    ordering = ("-created_at",)
    actions = ("try_again",)

    @admin.action(description=_("Try dead jobs again"))
    def try_again(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        retried = sum(job_retry(kind=job.kind, subject_id=job.subject_id) for job in queryset)
        self.message_user(request, _("%d jobs queued again.") % retried, messages.INFO)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
