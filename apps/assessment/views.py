"""The candidate's report: what to try next, then what each answer was worth and the words that led there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.assessment.models import Report, Score
from apps.assessment.selectors import report_for_interview, turn_readings
from apps.assessment.summary import next_steps_of
from apps.assessment.word_times import words_placed
from apps.interviews.models import Interview, Turn, Utterance
from apps.interviews.services import entry
from inference.assessment import Word

UNCLEAR_BELOW = 0.5
WAIT_S = 120


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of the transcript; `unclear` where the recogniser was not sure of the words."""

    text: str
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One question with its answer as the report shows it."""

    turn: Turn
    label: str
    score: Score | None
    live: Score | None
    runs: tuple[Run, ...]


@require_safe
@never_cache
def report(request: HttpRequest, public_id: UUID) -> HttpResponse:
    """The page; for htmx its body alone, or 204 while there is nothing new to show."""
    interview = entry.interview_for_session(request.session, public_id)
    if interview is None:
        raise Http404("no such interview")
    if interview.status != Interview.Status.FINISHED:
        return redirect("interviews:live", public_id=public_id)
    since = _since(request)
    found = report_for_interview(interview)
    pending = found is None or found.status == Report.Status.LIVE
    late = time.time() - since > WAIT_S
    if request.headers.get("HX-Request") and pending and not late:
        return HttpResponse(status=204)
    template = "reports/_body.html" if request.headers.get("HX-Request") else "reports/report.html"
    context = _context(interview, found) | {"pending": pending, "late": late, "since": since}
    return render(request, template, context)


def _since(request: HttpRequest) -> int:
    """When the page began to wait, in seconds since the epoch; now for a page that just opened."""
    raw = request.GET.get("since", "")
    return int(raw) if raw.isdecimal() and len(raw) < 12 else int(time.time())


def _context(interview: Interview, found: Report | None) -> dict[str, object]:
    readings = turn_readings(interview)
    answers = tuple(_answers(interview))
    return {
        "interview": interview,
        "report": found,
        "answers": answers,
        "next_steps": found.next_steps if found else next_steps_of(readings),
        "scored": [answer for answer in answers if answer.score],
        "speech_lang": "zh-Hans" if interview.language == "zh" else "en",
    }


def _answers(interview: Interview) -> Iterator[Answer]:
    position = 0
    for reading in turn_readings(interview):
        turn = reading.turn
        if turn.kind == Turn.Kind.MAIN:
            position += 1
            label = _("Question %(number)s") % {"number": position}
        else:
            label = _("Follow-up to question %(number)s") % {"number": position}
        yield Answer(turn, label, reading.score, reading.live, tuple(transcript_runs(turn)))


def transcript_runs(turn: Turn) -> Iterator[Run]:
    """The transcript cut where words were unclear. Typed answers are one clear run."""
    at = 0
    for place in words_placed(turn.transcript, _words(turn)):
        if place.word.confidence >= UNCLEAR_BELOW:
            continue
        if place.start > at:
            yield Run(turn.transcript[at : place.start])
        yield Run(turn.transcript[place.start : place.end], unclear=True)
        at = place.end
    if at < len(turn.transcript):
        yield Run(turn.transcript[at:])


def _words(turn: Turn) -> list[Word]:
    """Words of the decode that the transcript comes from: the full one where there is one."""
    utterances = list(turn.utterances.all())
    full = [one for one in utterances if one.decode == Utterance.Decode.FULL]
    return [
        Word(word["text"], word["start_s"], word["end_s"], word["confidence"])
        for utterance in full or utterances
        for word in utterance.words
    ]
