"""Who may hold a live socket: login session, ticket, consent. Database work only; knows no sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast
from uuid import UUID

from apps.interviews.media import media_folder
from apps.interviews.models import Interview
from apps.interviews.selectors import interview_for_session_token
from apps.interviews.services.seats import Seat, TicketRefused, hello_register, ticket_redeem
from apps.live.close_codes import CloseCode, Refused
from inference.assessment import Language


@dataclass(frozen=True, slots=True)
class Admission:
    """An interview whose candidate holds a valid ticket and has consented."""

    interview_id: int
    public_hex: str
    language: Language
    follow_ups: bool
    media_folder: str


def admitted(*, public_id: UUID, token: str, ticket: str) -> Admission:
    """Use the ticket up. Raises Refused: 4401 for a stranger or a spent ticket, 4403 without consent."""
    interview = interview_for_session_token(public_id=public_id, session_token=token)
    if interview is None:
        raise Refused(CloseCode.UNAUTHENTICATED, "no interview of this login session")
    try:
        ticket_redeem(raw=ticket, interview=interview, session_token=token)
    except TicketRefused:
        raise Refused(CloseCode.UNAUTHENTICATED, "ticket refused") from None
    if interview.consented_at is None or not interview.notice_version:
        raise Refused(CloseCode.NO_CONSENT, "no consent")
    return Admission(
        interview_id=interview.pk,
        public_hex=interview.public_id.hex,
        language=cast(Language, interview.language),
        follow_ups=interview.template.follow_ups,
        media_folder=media_folder(interview),
    )


def seated(admission: Admission) -> Seat:
    """Take the interview over from any older socket."""
    return hello_register(interview=Interview(pk=admission.interview_id))
