"""The four STAR parts of an answer, each with the words that show it."""

from __future__ import annotations

from inference.assessment import STAR_NAMES, StarName, StarPart
from inference.nlp.folding import Folded
from inference.nlp.question import PLANS_COUNT, Form
from inference.nlp.reading import Mark
from inference.nlp.topics import TECHNICAL_EN, TECHNICAL_ZH

ABSENT: dict[StarName, StarPart] = {name: StarPart(False) for name in STAR_NAMES}
_SHORTEST_SCENE_WORDS = 3


def star_of(folded: Folded, marks: tuple[Mark, ...], form: Form) -> dict[StarName, StarPart]:
    """All four keys always; plans ("I would …") are acts, but never a situation, a task or a result."""
    episode = [mark for mark in marks if not mark.planned]
    acts = _acts(marks, form) or (_parts(marks) if form == "design" else [])
    first_act = next((i for i, mark in enumerate(episode) if mark.act), len(episode))
    told = any(mark.act and not mark.planned for mark in marks) or form in ("story", "career", "follow_up")
    found: dict[StarName, Mark | None] = {
        "situation": _scene(episode, first_act) if told else None,
        "task": next((mark for mark in episode if mark.task), None) if told else None,
        "action": acts[0] if acts else None,
        "result": _result(episode) if told else None,
    }
    if form in ("motive", "fact", "yes_no", "explain"):
        found = dict.fromkeys(found) if not found["result"] else found
    return {name: _part(folded, mark) for name, mark in found.items()}


def _acts(marks: tuple[Mark, ...], form: Form) -> list[Mark]:
    planned_too = form in PLANS_COUNT
    acts = [mark for mark in marks if mark.act and (planned_too or not mark.planned)]
    # The role ("I led a team of five") is an act only when nothing more telling follows; so is the result.
    return sorted(
        acts, key=lambda mark: (mark.role or mark.task, mark.vague, mark.outcome and not mark.measured)
    )


_PART_WORDS = 3


def _parts(marks: tuple[Mark, ...]) -> list[Mark]:
    """A plan told without "I": what it is made of stands for what would be done."""
    return [
        mark
        for mark in marks
        if mark.words >= _PART_WORDS
        and (TECHNICAL_EN.search(mark.clause.text) or TECHNICAL_ZH.search(mark.clause.text))
    ]


def _scene(episode: list[Mark], first_act: int) -> Mark | None:
    before = episode[: first_act + 1]
    states = [m for m in before if m.problem and not m.act and not m.task and not m.vague and _long_enough(m)]
    placed = [m for m in episode if m.situation and not m.outcome and not m.vague]
    early = [m for m in placed if m in before]
    return next(iter(states or early or _late_states(episode) or placed), None)


def _late_states(episode: list[Mark]) -> list[Mark]:
    """Result first is fine: then the scene comes after it."""
    return [
        m for m in episode if m.problem and not m.act and not m.outcome and not m.vague and _long_enough(m)
    ]


def _long_enough(mark: Mark) -> bool:
    return mark.words >= _SHORTEST_SCENE_WORDS


def _result(episode: list[Mark]) -> Mark | None:
    outcomes = [mark for mark in episode if mark.outcome]
    ranked = sorted(outcomes, key=lambda mark: (not mark.moved, not mark.measured, not mark.proof))
    return ranked[0] if ranked else None


def _part(folded: Folded, mark: Mark | None) -> StarPart:
    if mark is None:
        return StarPart(False)
    quote = folded.quote(mark.clause.start, mark.clause.end)
    return StarPart(bool(quote), quote or None)
