"""Samples, their median and 95th percentile, and the goals they are held against."""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DISTURBED = 0.10  # of the machine's time that others took


def percentile(samples: Sequence[float], share: float) -> float:
    """Nearest rank: with ten samples p95 is the largest."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass
class Row:
    name: str
    samples: list[float]
    unit: str
    goal: float | None = None  # the median may not exceed it
    goal_p95: float | None = None
    at_least: bool = False  # the median may not be below `goal`

    @property
    def p50(self) -> float:
        return statistics.median(self.samples) if self.samples else math.nan

    @property
    def p95(self) -> float:
        return percentile(self.samples, 0.95) if self.samples else math.nan

    @property
    def holds(self) -> bool:
        if not self.samples:
            return self.goal is None and self.goal_p95 is None
        if self.at_least:
            return self.goal is None or self.p50 >= self.goal
        return (self.goal is None or self.p50 <= self.goal) and (
            self.goal_p95 is None or self.p95 <= self.goal_p95
        )

    def __str__(self) -> str:
        if not self.samples:
            return f"  {self.name:<72} nothing measured{self._verdict()}"
        count = len(self.samples)
        if count == 1:
            return f"  {self.name:<72}     {_figure(self.p50)} {self.unit:<19}{self._verdict()}"
        figures = f"p50 {_figure(self.p50)}  p95 {_figure(self.p95)} {self.unit:<3} n={count:<4}"
        return f"  {self.name:<72} {figures}{self._verdict()}"

    def _verdict(self) -> str:
        if self.goal is None and self.goal_p95 is None:
            return ""
        sign = "≥" if self.at_least else "≤"
        goals = [f"{sign} {self.goal:g}"] if self.goal is not None else []
        goals += [f"p95 ≤ {self.goal_p95:g}"] if self.goal_p95 is not None else []
        return f"  goal {', '.join(goals)}: {'holds' if self.holds else 'MISSED'}"


@dataclass
class Table:
    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(row.holds for row in self.rows)

    def __str__(self) -> str:
        return "\n".join([self.title, *map(str, self.rows), *(f"  {note}" for note in self.notes)])

    def plain(self) -> dict[str, Any]:
        rows = [
            {
                "name": r.name,
                "p50": _plain(r.p50),
                "p95": _plain(r.p95),
                "unit": r.unit,
                "goal": r.goal,
                "goal_p95": r.goal_p95,
                "holds": r.holds,
                "samples": r.samples,
            }
            for r in self.rows
        ]
        return {"title": self.title, "rows": rows, "notes": self.notes}


class Neighbours:
    """The share of the machine's time that processes outside this one's tree took, from here to `share`."""

    def __init__(self) -> None:
        self._began = (_busy_s(), _ours_s(), time.monotonic())

    def share(self) -> float:
        busy_s, ours_s, at_s = _busy_s(), _ours_s(), time.monotonic()
        whole_s = (at_s - self._began[2]) * (os.cpu_count() or 1)
        others_s = (busy_s - self._began[0]) - (ours_s - self._began[1])
        return max(0.0, others_s / whole_s) if whole_s else 0.0

    def note(self) -> str:
        taken = self.share()
        disturbed = " — DISTURBED: times are worth nothing" if taken > DISTURBED else ""
        return f"other processes took {100 * taken:.0f} % of the machine{disturbed}"


def tree(root: int) -> list[int]:
    """`root` and the processes under it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        found.append(pid)
    return found


def cpu_s(pid: int) -> float:
    """What a process has used so far, its ended children included. 0.0: it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return sum(int(ticks) for ticks in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def machine() -> str:
    """Which processor, how many cores, and how busy they were: a figure means little without."""
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return f"{cpu}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def say(line: str) -> None:
    """Progress: a run takes minutes."""
    print(line, file=sys.stderr, flush=True)


def _busy_s() -> float:
    """Of all cores: user, nice, system, irq, softirq."""
    ticks = [int(part) for part in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(ticks[i] for i in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def _ours_s() -> float:
    return sum(map(cpu_s, tree(os.getpid())))


def _figure(value: float) -> str:
    return f"{value:8.0f}" if abs(value) >= 1000 else f"{value:8.3g}"


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
