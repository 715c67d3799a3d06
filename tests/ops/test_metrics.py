"""/metrics: every hop and lesser way as figures, for those who may see them."""

from __future__ import annotations

import pytest
from django.test import Client
from prometheus_client import REGISTRY
from pytest_django.fixtures import Settings

from apps.ops.metrics import NAMES_AT_MOST, observe


def sample(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def counted(reason: str) -> bool:
    return sample("viva_fallbacks_total", reason=reason) > 0


def test_a_hop_lands_in_its_histogram() -> None:
    before = sample("viva_hop_seconds_bucket", hop="asr", le="0.3")
    below = sample("viva_hop_seconds_bucket", hop="asr", le="0.2")
    observe("asr_s", 0.28)
    assert sample("viva_hop_seconds_bucket", hop="asr", le="0.3") == before + 1
    assert sample("viva_hop_seconds_bucket", hop="asr", le="0.2") == below


def test_a_fallback_is_counted_by_its_reason() -> None:
    before = sample("viva_fallbacks_total", reason="llm_late")
    observe("fallback:llm_late", 1)
    assert sample("viva_fallbacks_total", reason="llm_late") == before + 1


def test_what_was_dropped_is_counted_by_how_much() -> None:
    before = sample("viva_live_events_total", event="audio_dropped", reason="")
    observe("audio_dropped", 7)
    assert sample("viva_live_events_total", event="audio_dropped", reason="") == before + 7


def test_a_spoken_word_never_becomes_a_label() -> None:
    observe("fallback:I grew up in Dortmund", 1)
    assert sample("viva_fallbacks_total", reason="I grew up in Dortmund") == 0
    assert sample("viva_fallbacks_total", reason="other") >= 1


def test_the_number_of_different_labels_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.ops.metrics._labels", set())
    for number in range(NAMES_AT_MOST + 20):
        observe(f"fallback:made_up_{number}", 1)
    made_up = [number for number in range(NAMES_AT_MOST + 20) if counted(f"made_up_{number}")]
    assert len(made_up) == NAMES_AT_MOST


def test_this_machine_may_read_the_figures(client: Client) -> None:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert 'viva_hop_seconds_count{hop="endpoint"}' in answer.content.decode()


@pytest.mark.parametrize("token", ["right", ""])
@pytest.mark.parametrize(
    ("address", "headers"),
    [
        ("10.1.2.3", {}),
        ("127.0.0.1", {"X-Forwarded-For": "10.1.2.3"}),
        ("10.1.2.3", {"Authorization": "Bearer wrong"}),
        ("10.1.2.3", {"Authorization": "Bearer "}),
    ],
)
def test_another_machine_may_not(
    client: Client, settings: Settings, address: str, headers: dict[str, str], token: str
) -> None:
    settings.METRICS_TOKEN = token
    assert client.get("/metrics", REMOTE_ADDR=address, headers=headers).status_code == 403


def test_another_machine_with_the_token_may(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = "right"
    answer = client.get("/metrics", REMOTE_ADDR="10.1.2.3", headers={"Authorization": "Bearer right"})
    assert answer.status_code == 200
