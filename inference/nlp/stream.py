"""Tells a finished assessment in pieces, in the order every judge uses: score, weakness, details, done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inference.assessment import Assessment
from inference.ports import (
    AssessmentDone,
    AssessmentPiece,
    DetailPiece,
    DimensionPiece,
    ScorePiece,
    WeaknessPiece,
)

_WORD_GROUP = 3
# An English word with its space, or up to two Chinese characters with the mark behind them.
_WORD = re.compile(r"[\u3400-\u9fff]{1,2}[，。：；、？！”）]*|[^\s\u3400-\u9fff]+\s*|\s+")


def pieces(assessment: Assessment) -> Iterator[AssessmentPiece]:
    """The order of `ports.Assessor`; without a score there is no ScorePiece.

    What does not count for this kind of question is kept in the assessment and not told.
    """
    if assessment.score is not None:
        yield ScorePiece(assessment.score)
    words = _WORD.findall(assessment.weakness)
    for at in range(0, len(words), _WORD_GROUP):
        yield WeaknessPiece("".join(words[at : at + _WORD_GROUP]))
    for dimension in (told for told in assessment.dimensions if told.weight > 0):
        yield DimensionPiece(dimension)
        for word in _WORD.findall(dimension.comment):
            yield DetailPiece(dimension.dimension, word)
    yield AssessmentDone(assessment)
