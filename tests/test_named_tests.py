"""Tests that the documentation names are there, and every rule and behaviour has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def _named(page: str) -> list[tuple[Path, str]]:
    return [(ROOT / path, name) for path, name in NAMED.findall((ROOT / "docs" / page).read_text())]


@pytest.mark.parametrize("page", ["protocol.md", "coverage.md"])
def test_each_test_that_is_named_exists(page: str) -> None:
    named = _named(page)
    assert named
    absent = [name for path, name in named if f"def {name}(" not in path.read_text()]
    assert not absent


@pytest.mark.parametrize(
    ("page", "rows"),
    [
        ("protocol.md", [f"W{number}" for number in range(1, 16)]),
        ("coverage.md", list(map(str, [*range(1, 7), 8, 9, 11, 12, 28, *range(30, 46)]))),
    ],
)
def test_each_rule_and_behaviour_names_a_test(page: str, rows: list[str]) -> None:
    lines = (ROOT / "docs" / page).read_text().splitlines()
    shown = {line.split()[1] for line in lines if NAMED.search(line)}
    assert set(rows) <= shown
