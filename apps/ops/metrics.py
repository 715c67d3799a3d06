"""What Prometheus sees of the live path. Labels come from our code, never from a person or a tenant."""

from __future__ import annotations

import re

from prometheus_client import Counter, Histogram

BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0)
HOPS = ("endpoint", "asr", "analysis", "llm_first_token", "feedback_first_content")
NAMES_AT_MOST = 128
_SAFE = re.compile(r"[a-z][a-z0-9_]{0,39}")

HOP_SECONDS = Histogram(
    "viva_hop_seconds", "Time of one hop from speech to feedback.", ["hop"], buckets=BUCKETS_S
)
FALLBACKS = Counter("viva_fallbacks", "Times a lesser way was taken, by reason.", ["reason"])
LIVE_EVENTS = Counter(
    "viva_live_events",
    "Dropped guesses, retries, dropped quotes, lost audio.",
    ["event", "reason"],
)
for _hop in HOPS:  # a hop that nobody has used yet shows as zero, not as absent
    HOP_SECONDS.labels(_hop)
for _event in ("guess_dropped", "asr_retried", "quote_dropped", "audio_dropped", "message_dropped"):
    LIVE_EVENTS.labels(_event, "")
_labels: set[str] = set()


def observe(name: str, value: float) -> None:
    """The Observe callback of `inference`: seconds for names ending in `_s`, else a count, `event:reason`."""
    event, _, reason = name.partition(":")
    if name.endswith("_s"):
        HOP_SECONDS.labels(_label(name.removesuffix("_s"))).observe(value)
    elif event == "fallback":
        FALLBACKS.labels(_label(reason)).inc(value)
    else:
        LIVE_EVENTS.labels(_label(event), _label(reason) if reason else "").inc(value)


def _label(text: str) -> str:
    """The text as a label: of a fixed alphabet, and so many different ones at most."""
    if text in _labels:
        return text
    if not _SAFE.fullmatch(text) or len(_labels) >= NAMES_AT_MOST:
        return "other"
    _labels.add(text)
    return text
