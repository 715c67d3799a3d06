"""Who may hold a live socket: login session, ticket or resume token, consent. Knows rows, no sockets."""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase

from apps.interviews.media import folder_of
from apps.interviews.models import Interview
from apps.interviews.selectors import LiveState, OwnInterview, interview_for_session_token, live_state
from apps.interviews.services.entry import session_token
from apps.interviews.services.seats import (
    InterviewGone,
    Seat,
    TicketRefused,
    resume_allowed,
    seat_take,
    ticket_redeem,
)
from apps.live.close_codes import CloseCode, Refused
from apps.live.messages import Hello
from inference.assessment import Language


@dataclass(frozen=True, slots=True)
class Admission:
    """An interview whose candidate may come in and has consented. `own` is what was read of its rows."""

    own: OwnInterview
    resume: str

    @property
    def interview(self) -> Interview:
        return self.own.interview

    @property
    def public_hex(self) -> str:
        return self.interview.public_id.hex

    @property
    def language(self) -> Language:
        return cast(Language, self.interview.language)

    @property
    def any_language(self) -> bool:
        return self.own.any_language

    @property
    def subject(self) -> str:
        return self.own.title

    @property
    def follow_ups(self) -> bool:
        return self.own.follow_ups

    @property
    def finished(self) -> bool:
        return self.interview.status == Interview.Status.FINISHED

    @property
    def media_folder(self) -> str:
        return folder_of(self.own.organisation, self.own.candidate, self.interview.public_id)


@dataclass(frozen=True, slots=True)
class Seated:
    """What a socket has that holds its interview: the token that opens the next one, and where it stands."""

    seat: Seat
    resume_token: str
    state: LiveState


def admitted(*, public_id: UUID, session: SessionBase, hello: Hello) -> Admission:
    """Use the ticket up, or compare the resume token: only a seat uses that up.

    Raises Refused: 4401 for a stranger, a spent ticket or token, 4403 without consent.
    """
    token = session_token(session)
    own = interview_for_session_token(public_id=public_id, session_token=token)
    if own is None:
        raise Refused(CloseCode.UNAUTHENTICATED, "no interview of this login session")
    interview = own.interview
    if hello.resume and not resume_allowed(interview=interview, raw=hello.resume):
        raise Refused(CloseCode.UNAUTHENTICATED, "resume token refused")
    if hello.ticket:
        try:
            ticket_redeem(raw=hello.ticket, interview=interview, session_token=token)
        except TicketRefused:
            raise Refused(CloseCode.UNAUTHENTICATED, "ticket refused") from None
    if interview.consented_at is None or not interview.notice_version:
        raise Refused(CloseCode.NO_CONSENT, "no consent")
    return Admission(own=own, resume=hello.resume)


def seated(admission: Admission, events_from: int) -> Seated:
    """Take the interview over from any older socket. Raises Refused, InterviewGone."""
    interview = admission.interview
    try:
        seat, resume_token = seat_take(interview=interview, resume=admission.resume)
    except TicketRefused:
        raise Refused(CloseCode.UNAUTHENTICATED, "resume token used up meanwhile") from None
    state = live_state(interview_id=interview.pk, after_eid=events_from)
    if state is None:
        raise InterviewGone
    return Seated(seat, resume_token, state)


def buffer_key(interview: Interview) -> str:
    """The key of what the page keeps on its device: the same at every welcome, and nowhere at rest."""
    message = b"buffer" + interview.public_id.bytes
    digest = hmac.digest(settings.SECRET_KEY.encode(), message, "sha256")
    return base64.urlsafe_b64encode(digest).decode()
