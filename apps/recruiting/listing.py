"""The list of interviews: which ones, in which order, from what the address says. Knows rows, not pages."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta
from urllib.parse import urlencode

from django.db.models import F, OrderBy, Q, QuerySet
from django.http import QueryDict
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.interviews.models import Interview
from inference.assessment import GRADES

PAGE_SIZE = 25
_SHORT_NAME = re.compile(r"[0-9a-f]{6}\Z", re.IGNORECASE)
STARTED = "started"
STATUSES = (STARTED, *Interview.Status.values)
LEAST_SCORES = {str(grade): floor for floor, grade in GRADES}
PERIODS_DAYS = {"7": 7, "30": 30, "90": 90}
SORTS = {
    "date": "created_at",
    "score": "report__mean",
    "candidate": "candidate__name",
    "interview": "template__title",
    "status": "status",
}


@dataclass(frozen=True, slots=True)
class Listing:
    """What the page asks for; anything unknown in the address falls back to the default."""

    q: str = ""
    status: str = STARTED
    least: str = ""
    period: str = ""
    sort: str = "date"
    descending: bool = True

    @classmethod
    def from_query(cls, query: QueryDict) -> Listing:
        sort = query.get("sort", "-date")
        name = sort.removeprefix("-")
        known = name in SORTS
        return cls(
            q=query.get("q", "").replace("\0", "").strip()[:100],  # PostgreSQL has no such character
            status=query.get("status", "") if query.get("status") in STATUSES else STARTED,
            least=query.get("least", "") if query.get("least") in LEAST_SCORES else "",
            period=query.get("period", "") if query.get("period") in PERIODS_DAYS else "",
            sort=name if known else "date",
            descending=sort.startswith("-") if known else True,
        )

    @property
    def narrowed(self) -> bool:
        """Whether anything is filtered out that the bare list shows."""
        return bool(self.q or self.least or self.period or self.status != STARTED)

    @property
    def signed_sort(self) -> str:
        return ("-" if self.descending else "") + self.sort

    def query(self) -> str:
        """The same as an address, without what is default."""
        given = {"q": self.q, "status": self.status, "least": self.least, "period": self.period}
        given["sort"] = self.signed_sort
        defaults = {"status": STARTED, "sort": "-date"}
        return urlencode({key: value for key, value in given.items() if value != defaults.get(key, "")})

    def sorted_by(self, name: str) -> Listing:
        """Sorted by a column: the other way round when it is sorted by it already."""
        descending = not self.descending if name == self.sort else name in {"date", "score"}
        return replace(self, sort=name, descending=descending)


def interviews_listed(organisations: QuerySet[Organisation], listing: Listing) -> QuerySet[Interview]:
    """Interviews of these organisations as asked; those without a score come last in either order."""
    rows = Interview.objects.filter(organisation__in=organisations)
    rows = rows.select_related("template", "candidate", "report", "organisation")
    return rows.filter(_status(listing), _search(listing), _score_and_date(listing)).order_by(
        _order(listing), "-created_at", "-pk"
    )


def _status(listing: Listing) -> Q:
    if listing.status == STARTED:
        return ~Q(status=Interview.Status.NOTICE)
    return Q(status=listing.status)


def _search(listing: Listing) -> Q:
    if not listing.q:
        return Q()
    found = Q(candidate__name__icontains=listing.q) | Q(template__title__icontains=listing.q)
    if short := _SHORT_NAME.search(listing.q):  # as the list names a candidate without a name
        found |= Q(candidate__public_id__istartswith=short.group())
    try:
        return found | Q(public_id=uuid.UUID(listing.q))
    except ValueError:
        return found


def _score_and_date(listing: Listing) -> Q:
    wanted = Q()
    if listing.least:
        wanted &= Q(report__mean__gte=LEAST_SCORES[listing.least])
    if listing.period:
        since = timezone.now() - timedelta(days=PERIODS_DAYS[listing.period])
        wanted &= Q(created_at__gte=since)
    return wanted


def _order(listing: Listing) -> OrderBy:
    field = F(SORTS[listing.sort])
    return field.desc(nulls_last=True) if listing.descending else field.asc(nulls_last=True)
