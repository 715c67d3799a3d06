"""Administration of scores and reports: to look at, never to edit."""

from __future__ import annotations

from django.contrib import admin

from apps.accounts.admin import KeptAdmin
from apps.assessment.models import Correction, Evidence, Report, Score


class EvidenceInline(admin.TabularInline):  # type: ignore[type-arg]
    """Readable to whoever may read the score."""

    model = Evidence
    extra = 0
    can_delete = False

    def has_view_permission(self, request, obj=None) -> bool:  # type: ignore[no-untyped-def]
        return True

    def has_add_permission(self, request, obj=None) -> bool:  # type: ignore[no-untyped-def]
        return False

    def has_change_permission(self, request, obj=None) -> bool:  # type: ignore[no-untyped-def]
        return False


@admin.register(Score)
class ScoreAdmin(KeptAdmin):
    organisation_path = "turn__interview__organisation"
    list_display = ("__str__", "turn", "stage", "source", "model", "low_confidence", "created_at")
    list_filter = ("stage", "grade", "source", "low_confidence")
    search_fields = ("turn__interview__public_id",)
    list_select_related = ("turn",)
    inlines = (EvidenceInline,)


@admin.register(Report)
class ReportAdmin(KeptAdmin):
    organisation_path = "interview__organisation"
    list_display = ("__str__", "status", "mean", "grade", "answered", "asked", "reason", "updated_at")
    list_filter = ("status", "grade")
    search_fields = ("interview__public_id",)


@admin.register(Correction)
class CorrectionAdmin(KeptAdmin):
    organisation_path = "turn__interview__organisation"
    list_display = ("__str__", "turn", "late_s", "value_before", "value_after", "created_at")
    search_fields = ("turn__interview__public_id",)
    list_select_related = ("turn",)
