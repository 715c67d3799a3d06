"""Login sessions are what Django's own store makes of them; only how they are read differs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.backends.db import SessionStore as OfDjango
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.ops.session_store import SessionStore

pytestmark = pytest.mark.django_db


def kept() -> str:
    store = OfDjango()
    store["candidate"] = "a token"
    store.save()
    return str(store.session_key)


def test_what_was_kept_is_read_in_one_statement(django_assert_num_queries: object) -> None:
    key = kept()
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert SessionStore(key)["candidate"] == "a token"


def test_a_change_is_kept_and_read_again() -> None:
    store = SessionStore(kept())
    store["language"] = "zh"
    store.save()
    assert dict(OfDjango(store.session_key).items()) == {"candidate": "a token", "language": "zh"}
    assert dict(SessionStore(store.session_key).items()) == {"candidate": "a token", "language": "zh"}


@pytest.mark.parametrize("wrong", ["expired", "unknown", "tampered"])
def test_what_is_no_session_is_empty_and_its_key_is_never_taken_over(wrong: str) -> None:
    key = kept() if wrong != "unknown" else "x" * 32
    if wrong == "expired":
        Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    if wrong == "tampered":
        Session.objects.update(session_data="no signed data")
    ours, djangos = SessionStore(key), OfDjango(key)
    assert ours.get("candidate") is djangos.get("candidate") is None
    assert (ours.session_key is None) == (djangos.session_key is None)
