"""Samples, their median and 95th percentile, and the goals they are held against."""

from __future__ import annotations

import os
import platform
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def percentile(samples: list[float], share: float) -> float:
    """Nearest rank: with ten samples p95 is the largest."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass
class Row:
    name: str
    samples: list[float]
    unit: str
    goal: float | None = None  # the median may not exceed it

    @property
    def p50(self) -> float:
        return statistics.median(self.samples)

    @property
    def holds(self) -> bool:
        return self.goal is None or self.p50 <= self.goal

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"  goal {self.goal:g}: {'holds' if self.holds else 'MISSED'}"
        p95 = percentile(self.samples, 0.95)
        count = len(self.samples)
        return f"  {self.name:<58} p50 {self.p50:8.3f}  p95 {p95:8.3f} {self.unit:<3} n={count}{goal}"


@dataclass
class Table:
    title: str
    rows: list[Row] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return all(row.holds for row in self.rows)

    def __str__(self) -> str:
        return "\n".join([self.title, *map(str, self.rows)])

    def plain(self) -> dict[str, Any]:
        rows = [
            {
                "name": r.name,
                "p50": r.p50,
                "p95": percentile(r.samples, 0.95),
                "unit": r.unit,
                "samples": r.samples,
            }
            for r in self.rows
        ]
        return {"title": self.title, "rows": rows}


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
