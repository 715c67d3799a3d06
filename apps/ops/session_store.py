"""Login sessions as Django keeps them, read with a statement that is built once: every page begins so."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from apps.ops.statements import Selection


def _live(session_key: str, now: datetime) -> QuerySet[Any, Any]:
    return Session.objects.filter(session_key=session_key, expire_date__gt=now).values_list("session_data")


_LIVE = Selection(_live, "a session's key", datetime(2001, 1, 1, tzinfo=UTC))


class SessionStore(db.SessionStore):
    def load(self) -> dict[str, Any]:
        for (session_data,) in _LIVE.rows(self.session_key, timezone.now()):
            return self.decode(session_data)
        self._session_key = None
        return {}
