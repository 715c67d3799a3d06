"""The prompt registry: from an answer to the messages that ask for its assessment.

Knows words and their order, not models or HTTP. The order is append-only, from what never changes to what
always does (rubric, question, answer), so that servers can reuse the prefix. What people wrote stands in the
user role only.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inference.assessment import Answer, Dimension, QuestionKind, QuestionSpec
from inference.prompts.templates import CURRENT, Template
from inference.prompts.untrusted import Cleaned, clean, estimated_tokens, shorten

MAX_PROMPT_TOKENS = 1950  # "prompts < 2K" with room for the server's chat template
MAX_QUESTION_TOKENS = 150
MAX_POINTS_TOKENS = 120


@dataclass(frozen=True, slots=True)
class Prompt:
    """`answer` is the answer as the model sees it; `shortened` says that it sees only beginning and end."""

    version: str
    system: str
    user: str
    answer: Cleaned
    shortened: bool


def assemble(
    answer: Answer,
    kind: QuestionKind,
    weights: Mapping[Dimension, float],
    omit: Sequence[tuple[int, int]] = (),
) -> Prompt:
    """The prompt in the interview's language, below 2K tokens. `weights` are shares that sum to 1.

    `omit`: spans of the answer that the model must not see, such as orders to it.
    """
    template = CURRENT[answer.question.language]
    code = secrets.token_hex(6)
    before = _question(template, answer.question, kind, weights)
    around = [*before, template.answer, code, code, template.closing.format(code=code)]
    room = MAX_PROMPT_TOKENS - estimated_tokens(template.system) - estimated_tokens("\n".join(around))
    whole = clean(answer.text, omit)
    said = shorten(whole, room)
    user = [*before, template.answer, code, said.text, code, template.closing.format(code=code)]
    return Prompt(template.version, template.system, "\n".join(user), said, said is not whole)


def _question(
    template: Template, question: QuestionSpec, kind: QuestionKind, weights: Mapping[Dimension, float]
) -> list[str]:
    shares = template.comma.join(f"{name} {share:.0%}".rstrip("%") for name, share in weights.items())
    lines = [
        template.kind.format(kind=template.kinds[kind], weights=shares),
        template.question.format(text=_short(question.text, MAX_QUESTION_TOKENS)),
    ]
    if question.follow_up_to:
        lines.append(template.follow_up_to.format(text=_short(question.follow_up_to, MAX_QUESTION_TOKENS)))
    if question.expected_points:
        points = "; ".join(question.expected_points)
        lines.append(template.points.format(text=_short(points, MAX_POINTS_TOKENS)))
    if question.terms:
        lines.append(template.terms.format(text=_short(", ".join(question.terms), MAX_POINTS_TOKENS)))
    return lines


def _short(text: str, max_tokens: float) -> str:
    return shorten(clean(text), max_tokens).text
