"""B2: who is cut off, and how long after the last word the clocks strike; beside a rule of silence alone.

On the audio clock (see lockstep): the same on every machine, except for what the recogniser writes.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inference import events as ev
from inference.ports import Engines
from tests.bench.figures import Row, Table, say
from tests.bench.lockstep import TAIL_S, Replayed, replay_all
from tests.bench.recordings import Recording, made, spoken
from tests.bench.voice import probabilities, silence_ends

RULES_S = (0.3, 0.6, 1.0)
HEARD_OUT_S = (
    0.1  # a last sound is fainter than the detector hears: who takes the floor in it cuts nothing off
)
BY_EAR_S = tuple(round(0.1 * step, 1) for step in range(2, 31))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one clock did with one answer: how often too early, and how late after the true end."""

    early: tuple[float, ...]
    delay_s: float | None  # None: it never struck behind the end

    @property
    def cut_off(self) -> bool:
        return bool(self.early)


@dataclass
class Judged:
    """One answer: both clocks, and what was on the page when somebody was cut off."""

    recording: Recording
    soft: Verdict
    hard: Verdict
    said: str = ""

    def line(self) -> str:
        at_s = self.hard.early[0]
        pause = next((p for p in self.recording.pauses if p[0] - 0.3 <= at_s <= sum(p) + 0.6), None)
        where = f"in a pause of {pause[1]:.2f} s at {pause[0]:.2f} s" if pause else "outside any pause"
        return f"cut off: {self.recording.id} at {at_s:.2f} s, {where}, after “…{self.said[-60:]}”"


async def cut_offs(engines: Engines, takes: int = 6) -> list[Table]:
    """The spoken and the made set. `takes`: so many made ones of each answer."""
    answers = [*spoken(), *(one for one in made(spoken()) if take_of(one) < takes)]
    say(f"B2: {len(answers)} answers, {sum(map(_length_s, answers)) / 60:.0f} min of audio")
    played = await replay_all(engines, answers, lambda one: say(f"B2: {one.recording.id}"))
    judged = [judge(one) for one in played]
    scores = {one.id: probabilities(one.then_silence(TAIL_S)) for one in answers}
    tables = [
        _table("spoken", [one for one in judged if one.recording.kind == "spoken"], scores, limit=0.0),
        _table("made", [one for one in judged if one.recording.kind != "spoken"], scores, limit=0.02),
    ]
    return [*tables, _by_kind(judged)]


def judge(played: Replayed) -> Judged:
    end_s = played.recording.speech_end_s
    soft = [at_s for at_s, _ in played.of(ev.TurnPaused)]
    hard = [at_s for at_s, _ in played.of(ev.TurnEnded)]
    # A turn that ends without a pause before was committed at once: its score stands from then on.
    soft += [at_s for at_s in hard if not any(end_s - HEARD_OUT_S <= s <= at_s for s in soft)]
    said = [e.text for at_s, e in played.of(ev.TranscriptFinal) if not hard or at_s <= hard[0]]
    partial = [e.text for _, e in played.of(ev.TranscriptPartial)][-1:]
    return Judged(
        played.recording,
        verdict(soft, end_s),
        verdict(hard, end_s),
        " ".join([*said, *partial]),
    )


def verdict(struck_s: Sequence[float], end_s: float) -> Verdict:
    early = tuple(at_s for at_s in struck_s if at_s < end_s - HEARD_OUT_S)
    late = [at_s - end_s for at_s in struck_s if at_s >= end_s - HEARD_OUT_S]
    return Verdict(early, late[0] if late else None)


def by_rule(answers: Sequence[Recording], scores: dict[str, list[float]], silence_s: float) -> list[Verdict]:
    """Whoever is silent for so long has ended."""
    ends = ((one, silence_ends(scores[one.id], silence_s)) for one in answers)
    return [verdict([] if at_s is None else [at_s], one.speech_end_s) for one, at_s in ends]


def share(verdicts: Sequence[Verdict]) -> float:
    """Percent of answers that were cut off."""
    return 100.0 * sum(one.cut_off for one in verdicts) / len(verdicts)


def _table(name: str, judged: Sequence[Judged], scores: dict[str, list[float]], limit: float) -> Table:
    answers = [one.recording for one in judged]
    pauses = [length_s for one in answers for _, length_s in one.pauses]
    hard, soft = [one.hard for one in judged], [one.soft for one in judged]
    rows = [
        Row("hard commit: answers cut off", [share(hard)], "%", goal=100 * limit),
        _delays("hard commit after the last word", hard, goal=2.2, goal_p95=3.2),
        Row("soft commit: answers in which one came too early, and was reopened", [share(soft)], "%"),
        _delays("soft commit after the last word", _reopened(soft), goal=0.9),
    ]
    for silence_s in RULES_S:
        verdicts = by_rule(answers, scores, silence_s)
        rows.append(Row(f"silence alone, {1000 * silence_s:.0f} ms: answers cut off", [share(verdicts)], "%"))
        rows.append(_delays(f"silence alone, {1000 * silence_s:.0f} ms, after the last word", verdicts))
    rows += _as_careful(answers, scores, share(hard))
    title = f"B2 {name}: {len(answers)} answers, {len(pauses)} pauses in them"
    notes = [one.line() for one in judged if one.hard.cut_off]
    return Table(
        f"{title} (median {statistics.median(pauses):.2f} s, longest {max(pauses):.2f} s)", rows, notes
    )


def _as_careful(answers: Sequence[Recording], scores: dict[str, list[float]], percent: float) -> list[Row]:
    """The shortest silence that cuts no more people off than ours does: what it takes without words."""
    for silence_s in BY_EAR_S:
        verdicts = by_rule(answers, scores, silence_s)
        if share(verdicts) <= percent:
            name = f"silence alone, {1000 * silence_s:.0f} ms, which cuts off no more, after the last word"
            return [_delays(name, verdicts)]
    return []


def _by_kind(judged: Sequence[Judged]) -> Table:
    """Where cut-offs come from: longer pauses, or noise that hides an end."""
    rows = []
    for kind in dict.fromkeys(one.recording.kind for one in judged):
        same = [one for one in judged if one.recording.kind == kind]
        hard, soft = [one.hard for one in same], [one.soft for one in same]
        rows.append(Row(f"{kind}: hard commit, answers cut off (of {len(same)})", [share(hard)], "%"))
        rows.append(_delays(f"{kind}: hard commit after the last word", hard))
        rows.append(_delays(f"{kind}: soft commit after the last word", _reopened(soft)))
    return Table("B2 by kind", rows)


def _delays(
    name: str, verdicts: Sequence[Verdict], goal: float | None = None, goal_p95: float | None = None
) -> Row:
    """In ms, of those that were heard out; one that was never ended counts as its whole silence."""
    heard_out = [one for one in verdicts if not one.cut_off]
    delays = [1000 * (TAIL_S if one.delay_s is None else one.delay_s) for one in heard_out]
    return Row(
        name,
        delays,
        "ms",
        goal=None if goal is None else 1000 * goal,
        goal_p95=None if goal_p95 is None else 1000 * goal_p95,
    )


def _reopened(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """A soft commit that came too early costs nothing: the last one counts."""
    return [replace(one, early=()) for one in verdicts]


def take_of(one: Recording) -> int:
    """Which of the made answers of its clip it is."""
    return int(one.id.partition("/")[2].partition("@")[0])


def _length_s(one: Recording) -> float:
    return one.speech_end_s + TAIL_S
