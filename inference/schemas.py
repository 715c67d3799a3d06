"""The shape of an LLM's reply, as the JSON schema sent with each request.

Knows names and order, not meaning. The order is what makes the reply worth streaming: score, weakness,
details.
"""

from __future__ import annotations

from typing import Any

from inference.assessment import DIMENSIONS

JsonSchema = dict[str, Any]


def _closed_object(properties: JsonSchema) -> JsonSchema:
    """An object with these properties only; grammar-guided servers emit them in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _dimension() -> JsonSchema:
    return _closed_object(
        {
            "value": {"type": "number"},
            "quotes": {"type": "array", "items": {"type": "string"}},
            "comment": {"type": "string"},
        }
    )


# No ranges or lengths: servers differ in which of these keywords they accept, and one that refuses a keyword
# refuses the request. The parser checks them all anyway.
REPLY_SCHEMA: JsonSchema = _closed_object(
    {
        "score": {"type": "number"},
        "weakness": {"type": "string"},
        "dimensions": _closed_object({name: _dimension() for name in DIMENSIONS}),
        "follow_up": {"type": "string"},
    }
)
