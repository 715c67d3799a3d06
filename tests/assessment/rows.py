"""Rows that tests of scores, reports and recruiters' pages start from."""

from __future__ import annotations

import uuid

from django.utils import timezone

from apps.accounts.models import Organisation
from apps.interviews.models import Candidate, Interview, Question, Template, Turn, Utterance
from inference.assessment import (
    Assessment,
    Delivery,
    Dimension,
    DimensionScore,
    StarPart,
    Word,
)

QUESTION = "Tell me about a time you solved a hard technical problem."
ANSWER = "I cached the catalogue. Latency fell by forty percent."


def words_of(text: str, step_s: float = 0.5) -> tuple[Word, ...]:
    """One word each `step_s` seconds."""
    return tuple(
        Word(part, index * step_s, (index + 1) * step_s, 0.9) for index, part in enumerate(text.split())
    )


def organisation(name: str = "Acme") -> Organisation:
    return Organisation.objects.create(name=name, slug=f"{name.lower()}-{uuid.uuid4().hex[:6]}")


def interview(owner: Organisation | None = None, questions: int = 2, language: str = "en") -> Interview:
    owner = owner or organisation()
    template = Template.objects.create(
        organisation=owner, slug=uuid.uuid4().hex, title="Backend engineer", language=language
    )
    for position in range(1, questions + 1):
        Question.objects.create(template=template, position=position, text=QUESTION, kind="behavioural")
    candidate = Candidate.objects.create(organisation=owner, name="Wei Chen", session_token=uuid.uuid4().hex)
    return Interview.objects.create(
        organisation=owner,
        template=template,
        candidate=candidate,
        language=language,
        status=Interview.Status.FINISHED,
        notice_version="test-1",
        consented_at=timezone.now(),
        started_at=timezone.now(),
        finished_at=timezone.now(),
    )


def turn(of: Interview, number: int = 1, **fields: object) -> Turn:
    defaults: dict[str, object] = {
        "status": Turn.Status.ANSWERED,
        "transcript": ANSWER,
        "question": of.template.questions.first(),
        "question_text": QUESTION,
    }
    return Turn.objects.create(interview=of, number=number, **(defaults | fields))


def utterance(of: Turn, text: str, number: int = 1, start_s: float = 0.0, **fields: object) -> Utterance:
    words = [
        {
            "text": word.text,
            "start_s": word.start_s + start_s,
            "end_s": word.end_s + start_s,
            "confidence": word.confidence,
        }
        for word in words_of(text)
    ]
    end_s = start_s + 0.5 * len(words)
    return Utterance.objects.create(
        turn=of, number=number, text=text, words=words, start_s=start_s, end_s=end_s, confidence=0.9, **fields
    )


def reading(dimension: Dimension, value: float, weight: float, *quotes: str) -> DimensionScore:
    return DimensionScore(dimension, value, weight, quotes, f"about {dimension}")


def assessed(
    score: float | None = 7.8, weakness: str = "Name what you decided.", **fields: object
) -> Assessment:
    defaults: dict[str, object] = {
        "score": score,
        "weakness": weakness,
        "dimensions": (
            reading("relevance", 8.0, 0.25, "I cached the catalogue"),
            reading("structure", 7.0, 0.25, "I cached the catalogue"),
            reading("evidence", 9.0, 0.25, "fell by forty percent"),
            reading("ownership", 6.0, 0.15, "I cached"),
            reading("clarity", 7.5, 0.10, "Latency fell"),
        ),
        "star": {"action": StarPart(True, "I cached the catalogue"), "result": StarPart(False)},
        "quantified": ("forty percent",),
        "relevance": 0.8,
        "delivery": Delivery(fillers=1, pace=120.0),
        "follow_up": "What did you decide yourself?",
        "kind": "behavioural",
        "source": "rules",
    }
    return Assessment(**(defaults | fields))  # type: ignore[arg-type]
