"""Lets a page read the socket's numbers from the server instead of repeating them."""

from __future__ import annotations

from django import template

from apps.live import close_codes, frames, messages

register = template.Library()


@register.simple_tag
def live_protocol() -> dict[str, object]:
    """For `{% live_protocol as live %}{{ live|json_script:"live-protocol" }}`."""
    return {
        "subprotocol": messages.SUBPROTOCOL,
        "close_codes": {
            str(int(code)): {"retry": rule.retry, "spread_ms": rule.spread_ms}
            for code, rule in close_codes.CLOSE_TABLE.items()
        },
        "header_bytes": frames.HEADER.size,
        "version": frames.VERSION,
        "type_audio": frames.TYPE_AUDIO,
        "flag_last": frames.LAST,
        "flag_discontinuity": frames.DISCONTINUITY,
        "max_text_chars": messages.MAX_TEXT_CHARS,
    }
