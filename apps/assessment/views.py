"""The candidate's report: what to try next, then what each answer was worth and the words that led there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.assessment.corrections import LateAudio, late_audio_of
from apps.assessment.models import Report, Score
from apps.assessment.passages import Passage, passages_of
from apps.assessment.selectors import TurnReading, report_for_interview, turn_readings
from apps.assessment.summary import follow_ups_answered, next_steps_of
from apps.interviews.models import Interview, Turn
from apps.interviews.views import own_interview

WAIT_S = 120
LATE_AUDIO_WAIT_S = 900  # a device that comes back may take minutes to send what it kept


@dataclass(frozen=True, slots=True)
class Answer:
    """One question with its answer as the report shows it."""

    turn: Turn
    label: str
    score: Score | None
    live: Score | None
    passages: tuple[Passage, ...]
    late: LateAudio | None = None


@require_safe
@never_cache
def report(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The page; for htmx its body alone, or 204 while there is nothing new to show.

    Everything is read from the rows each time: a body that was missed is fetched again like any other.
    """
    interview = own_interview(request, public_id)
    if interview.status != Interview.Status.FINISHED:
        return redirect("interviews:live", public_id=public_id)
    since = _since(request)
    found = report_for_interview(interview)
    pending = found is None or found.status == Report.Status.LIVE
    waited_s = time.time() - since
    late = waited_s > WAIT_S
    context = _context(interview, found)
    asks_body = bool(request.headers.get("HX-Request"))
    unchanged = context["coming"] and request.GET.get("seen") == context["mark"]
    if asks_body and ((pending and not late) or (unchanged and waited_s <= LATE_AUDIO_WAIT_S)):
        return HttpResponse(status=204)
    template = "reports/_body.html" if asks_body else "reports/report.html"
    waits = {"pending": pending, "late": late, "since": since, "asks": waited_s <= LATE_AUDIO_WAIT_S}
    return render(request, template, context | waits)


def _since(request: HttpRequest) -> int:
    """When the page began to wait, in seconds since the epoch; now for a page that just opened."""
    raw = request.GET.get("since", "")
    return int(raw) if raw.isdecimal() and len(raw) < 12 else int(time.time())


def _context(interview: Interview, found: Report | None) -> dict[str, object]:
    readings = turn_readings(interview)
    answers = tuple(_answers(readings))
    return {
        "interview": interview,
        "report": found,
        "answers": answers,
        "follow_ups": follow_ups_answered(readings),
        "next_steps": found.next_steps if found else next_steps_of(readings),
        "scored": [answer for answer in answers if answer.score],
        "coming": any(answer.late.coming for answer in answers if answer.late),
        "mark": _mark(found, answers),
        "speech_lang": "zh-Hans" if interview.language == "zh" else "en",
    }


def _mark(found: Report | None, answers: Sequence[Answer]) -> str:
    """Another one when the body would be another one."""
    states = [f"{answer.turn.number}{answer.late.state}" for answer in answers if answer.late]
    return ".".join([str(found.updated_at.timestamp()) if found else "", *states])


def _answers(readings: Sequence[TurnReading]) -> Iterator[Answer]:
    late = late_audio_of([reading.turn for reading in readings])
    position = 0
    for reading in readings:
        turn = reading.turn
        if turn.kind == Turn.Kind.MAIN:
            position += 1
            label = _("Question %(number)s") % {"number": position}
        else:
            label = _("Follow-up to question %(number)s") % {"number": position}
        passages = tuple(passages_of(turn))
        yield Answer(turn, label, reading.score, reading.live, passages, late.get(turn.pk))
