"""Which filters an address of the administration may name: those that the page itself offers, nothing else.

Django takes any column of the listed model from the address, with any comparison. Whoever may see the list
could then guess a column that it hides, letter by letter, from which rows stay.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup, DisallowedModelAdminToField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

# What the filters of list_filter put into the address themselves, and the steps of date_hierarchy.
_FILTERS = ("", "__exact", "__in", "__isnull", "__gte", "__lt", "__lte")
_DATES = ("__year", "__month", "__day", "__gte", "__lt")


class OfferedLookups(admin.ModelAdmin):  # type: ignore[type-arg]
    """A list that filters by what it offers. Anything else shows the plain list and says so."""

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        filters = self.list_filter if request is None else self.get_list_filter(request)
        offered = {f"{name}{by}" for name in filters if isinstance(name, str) for by in _FILTERS}
        if self.date_hierarchy:
            offered |= {f"{self.date_hierarchy}{by}" for by in _DATES}
        return lookup in offered

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        return to_field in {"id", "pk"}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except (DisallowedModelAdminLookup, DisallowedModelAdminToField):
            messages.warning(request, _("This list cannot be filtered that way."))
            return redirect(request.path)
