"""How somebody enters an interview: who they are for this session, what they chose, their consent.

Knows rows and the login session's token; not pages, sockets or the text of the notice.
"""

from __future__ import annotations

import secrets
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.interviews.models import Candidate, Interview, Template

SESSION_KEY = "candidate"


def session_token(session: SessionBase) -> str:
    """The token that binds candidates to this login session; "" before the first interview."""
    return str(session.get(SESSION_KEY, ""))


def candidate_for_session(session: SessionBase, *, organisation: Organisation) -> Candidate:
    """This session's candidate in `organisation`, made at the first call. Writes the session."""
    token = session_token(session)
    if not token:
        token = session[SESSION_KEY] = secrets.token_urlsafe(32)
    candidate, _ = Candidate.objects.get_or_create(organisation=organisation, session_token=token)
    return candidate


def interviews_for_session(session: SessionBase) -> QuerySet[Interview]:
    """The interviews this session may open: everybody else's do not exist for it."""
    token = session_token(session)
    if not token:
        return Interview.objects.none()
    return Interview.objects.filter(candidate__session_token=token).select_related(
        "template", "candidate", "organisation"
    )


def interview_for_session(session: SessionBase, public_id: UUID) -> Interview | None:
    return interviews_for_session(session).filter(public_id=public_id).first()


def interview_create(*, template: Template, candidate: Candidate) -> Interview:
    """The interview about to start. One that was chosen before and not yet consented to is taken up again."""
    waiting = Interview.objects.filter(
        template=template, candidate=candidate, status=Interview.Status.NOTICE, consented_at=None
    ).first()
    return waiting or Interview.objects.create(
        organisation=template.organisation,
        template=template,
        candidate=candidate,
        language=template.language,
    )


def consent_record(*, interview: Interview, notice_version: str) -> None:
    """Keep which notice was agreed to and when. The first consent stands: a second changes nothing."""
    if not notice_version:
        raise ValueError("a consent names the notice it was given to")
    with transaction.atomic():
        Interview.objects.filter(pk=interview.pk, consented_at=None).update(
            notice_version=notice_version, consented_at=timezone.now()
        )
    interview.refresh_from_db()
