"""An assessment as the plain mapping that the `score` command prints and scripts rely on."""

from __future__ import annotations

from inference.assessment import STAR_NAMES, Assessment


def answer_summary(assessment: Assessment) -> dict[str, object]:
    """JSON-ready; all four STAR keys always."""
    return {
        "score": assessment.score,
        "grade": assessment.grade,
        "weakness": assessment.weakness,
        "star": {
            name: {"present": assessment.star[name].present, "quote": assessment.star[name].quote}
            for name in STAR_NAMES
        },
        "quantified": list(assessment.quantified),
        "relevance": assessment.relevance,
        "fillers": assessment.delivery.fillers,
        "flags": list(assessment.flags),
        "source": assessment.source,
    }
