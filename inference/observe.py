"""How the engines' figures leave `inference`: a callable that the web process gives."""

from __future__ import annotations

from collections.abc import Callable

Observe = Callable[[str, float], None]
"""(name, value): seconds for names ending in `_s`, else a count to add. Never text from a person."""


def ignore(name: str, value: float) -> None:
    """Observe nothing."""
