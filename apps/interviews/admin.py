"""Administration of interviews and what belongs to them. Answers and events are never edited by hand."""

from __future__ import annotations

from django.contrib import admin

from apps.accounts.admin import KeptAdmin, TenantAdmin
from apps.interviews.models import Candidate, Event, Interview, Question, Template, Ticket, Turn, Utterance


class QuestionInline(admin.StackedInline):  # type: ignore[type-arg]
    """Readable to whoever may read the template."""

    model = Question
    extra = 0

    def has_view_permission(self, request, obj=None) -> bool:  # type: ignore[no-untyped-def]
        return True


@admin.register(Template)
class TemplateAdmin(TenantAdmin):
    list_display = ("title", "language", "practice", "organisation", "created_at")
    list_filter = ("language", "practice")
    search_fields = ("title", "slug")
    list_select_related = ("organisation",)
    readonly_fields = ("public_id", "created_at")
    prepopulated_fields = {"slug": ("title",)}
    inlines = (QuestionInline,)


@admin.register(Candidate)
class CandidateAdmin(KeptAdmin):
    list_display = ("__str__", "organisation", "created_at")
    search_fields = ("name", "public_id")
    list_select_related = ("organisation",)
    readonly_fields = ("public_id", "created_at")
    exclude = ("session_token",)  # whoever knows it is the candidate


@admin.register(Interview)
class InterviewAdmin(KeptAdmin):
    list_display = ("__str__", "language", "status", "organisation", "created_at", "finished_at")
    list_filter = ("status", "language", "created_at")
    search_fields = ("candidate__name", "template__title", "public_id")
    list_select_related = ("template", "candidate", "organisation")
    date_hierarchy = "created_at"


@admin.register(Turn)
class TurnAdmin(KeptAdmin):
    organisation_path = "interview__organisation"
    list_display = ("__str__", "kind", "status", "input", "end_reason", "audio_s", "low_confidence")
    list_filter = ("kind", "status", "input", "low_confidence")
    search_fields = ("interview__public_id", "question_text")


@admin.register(Utterance)
class UtteranceAdmin(KeptAdmin):
    organisation_path = "turn__interview__organisation"
    list_display = ("__str__", "decode", "start_s", "end_s", "confidence", "low_confidence")
    list_filter = ("decode", "low_confidence")
    search_fields = ("turn__interview__public_id",)


@admin.register(Event)
class EventAdmin(KeptAdmin):
    organisation_path = None
    list_display = ("__str__", "type", "turn_number", "created_at")
    list_filter = ("type",)
    search_fields = ("interview__public_id",)


@admin.register(Ticket)
class TicketAdmin(KeptAdmin):
    organisation_path = None
    list_display = ("__str__", "expires_at", "used_at")
    exclude = ("token_hash", "session_token")
