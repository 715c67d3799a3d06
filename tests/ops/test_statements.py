"""Statements that are built once give what their querysets give, with other values each time."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet
from django.test.utils import CaptureQueriesContext

from apps.interviews.models import Interview
from apps.ops.statements import Change, Selection
from tests.live.stack import Person

pytestmark = pytest.mark.django_db
LATER = datetime(2031, 5, 6, 7, 8, 9, 123_456, tzinfo=UTC)


def of_everything(public_id: uuid.UUID, before: datetime) -> QuerySet[Any, Any]:
    found = Interview.objects.filter(public_id=public_id, created_at__lt=before, language__in=["en", "zh"])
    return found.values_list("pk", "public_id", "consented_at", "template__follow_ups", "resume_expires_at")


def with_beat(known: int, expires_at: datetime) -> tuple[QuerySet[Any, Any], dict[str, Any]]:
    return Interview.objects.filter(pk=known), {"beat": F("beat") + 1, "resume_expires_at": expires_at}


def test_rows_are_those_of_the_queryset_for_whatever_values_it_is_asked() -> None:
    one, other = Person(), Person()
    selection = Selection(of_everything, uuid.UUID(int=7), datetime(2001, 1, 1, tzinfo=UTC))
    for person in (one, other, one):
        public_id = person.interview.public_id
        assert selection.rows(public_id, LATER) == list(of_everything(public_id, LATER)) != []
    assert selection.rows(uuid.uuid4(), LATER) == []
    assert selection.rows(one.interview.public_id, LATER - timedelta(days=9_000)) == []


def test_a_change_reaches_the_rows_meant_and_says_how_many() -> None:
    one, other = Person(), Person()
    change = Change(with_beat, 101, datetime(2001, 1, 1, tzinfo=UTC))
    with CaptureQueriesContext(connection) as asked:
        made = [change.made(pk, LATER) for pk in (one.interview.pk, one.interview.pk, 0)]
    assert (made, len(asked)) == ([1, 1, 0], 3)
    row = Interview.objects.get(pk=one.interview.pk)
    assert (row.beat, row.resume_expires_at) == (one.interview.beat + 2, LATER)
    assert Interview.objects.get(pk=other.interview.pk).beat == other.interview.beat


def test_an_example_that_the_sql_does_not_show_is_refused_before_anything_is_asked() -> None:
    def without(known: int) -> QuerySet[Any, Any]:
        return Interview.objects.filter(pk=known + 1).values_list("pk")

    with pytest.raises(ValueError, match="not among the parameters"):
        Selection(without, 101).rows(1)
