"""Administration of people, and the rule of every list: recruiters read their own organisations' rows."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account.decorators import secure_admin_login
from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Membership, Organisation, User
from apps.accounts.selectors import organisations_for
from apps.ops.admin_lookups import OfferedLookups

# Sign-in to /admin/ goes the same way as everywhere, with its limits on guessing.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.site_header = _("Viva administration")
admin.site.site_title = "Viva"
admin.site.unregister(Group)
admin.site.unregister(EmailAddress)  # a user has one address, and it is edited there


class TenantAdmin(OfferedLookups):
    """Operators do everything; a recruiter who is staff reads what belongs to their organisations.

    `organisation_path` is the lookup from a row to its organisation; None keeps a model to operators.
    List filters must not offer related rows: their choices would name other organisations'.
    """

    organisation_path: ClassVar[str | None] = "organisation"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        if _is_operator(request):
            return rows
        if self.organisation_path is None:
            return rows.none()
        return rows.filter(**{f"{self.organisation_path}__in": organisations_for(request.user)}).distinct()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_operator(request) or self._may_read(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        if _is_operator(request):
            return True
        return self._may_read(request) and (obj is None or self.get_queryset(request).contains(obj))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return _is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return _is_operator(request)

    def _may_read(self, request: HttpRequest) -> bool:
        staff = bool(request.user.is_active and getattr(request.user, "is_staff", False))
        return staff and self.organisation_path is not None and organisations_for(request.user).exists()


class KeptAdmin(TenantAdmin):
    """Rows that people and jobs wrote: nobody edits them by hand.

    Nor deletes them here, where recordings would stay behind: an interview is erased as a whole.
    """

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _is_operator(request: HttpRequest) -> bool:
    return bool(request.user.is_active and getattr(request.user, "is_superuser", False))


@admin.register(User)
class PersonAdmin(OfferedLookups, UserAdmin):  # type: ignore[type-arg]
    """Accounts. Operators only: whoever edits accounts can become anybody."""

    list_display = ("email", "first_name", "last_name", "is_staff", "is_superuser", "is_active", "last_login")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("email", "first_name", "last_name")
    ordering = ("email",)
    readonly_fields = ("last_login", "date_joined")
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        (_("Person"), {"fields": ("first_name", "last_name")}),
        (_("Access"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return _is_operator(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return _is_operator(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return _is_operator(request)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return _is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return _is_operator(request)


@admin.register(Organisation)
class OrganisationAdmin(TenantAdmin):
    organisation_path = "pk"
    list_display = ("name", "slug", "public_id")
    search_fields = ("name", "slug")
    readonly_fields = ("public_id",)
    prepopulated_fields = {"slug": ("name",)}


@admin.register(Membership)
class MembershipAdmin(TenantAdmin):
    list_display = ("user", "organisation", "role")
    list_filter = ("role",)
    search_fields = ("user__email", "organisation__name")
    list_select_related = ("user", "organisation")
    autocomplete_fields = ("user", "organisation")
