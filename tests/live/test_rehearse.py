"""`manage.py rehearse`: a recording through the session that a browser uses, with the real speech model."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings


def rehearsed(audio: Path, *arguments: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("rehearse", str(audio), *arguments, "--json", stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


@pytest.mark.model
def test_a_good_answer_is_heard_scored_and_quoted(spoken: Path, model_dir: Path) -> None:
    *events, summary = rehearsed(spoken / "star_quantified.wav", "--speed", "3")
    assert {event["type"] for event in events} >= {"transcript.final", "feedback.score", "turn.ended"}
    assert all(event["at_s"] >= 0 for event in events)
    assert (summary["type"], summary["turns"], summary["language"]) == ("summary", 1, "en")
    assert (summary["score"] >= 7, summary["source"]) == (True, "rules")
    quotes = " ".join(quote for part in summary["details"].values() for quote in part["quotes"]).lower()
    assert "percent" in quotes or "%" in quotes
    assert summary["follow_up"]
    assert all(summary["hops"][hop] is not None for hop in ("endpoint_s", "asr_s", "analysis_s"))


@pytest.mark.model
def test_silence_is_no_turn_and_gets_no_score(spoken: Path, model_dir: Path) -> None:
    summary = rehearsed(spoken / "silence.wav", "--speed", "10")[-1]
    assert (summary["turns"], summary["transcript"], summary["score"], summary["grade"]) == (
        0,
        "",
        None,
        None,
    )


def test_a_missing_recording_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such file"):
        rehearsed(tmp_path / "none.wav")


def test_a_file_that_is_no_recording_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"RIFF????WAVE not really")
    with pytest.raises(CommandError, match="does not play as audio"):
        rehearsed(tmp_path / "a.wav")


def test_without_a_model_it_says_how_to_get_one(spoken: Path, settings: Settings, tmp_path: Path) -> None:
    settings.MODELS_DIR = tmp_path
    with pytest.raises(CommandError, match="models fetch"):
        rehearsed(spoken / "silence.wav")


def test_an_address_that_is_no_socket_is_one_line(spoken: Path) -> None:
    with pytest.raises(CommandError, match="no socket address"):
        rehearsed(spoken / "silence.wav", "--url", "http://127.0.0.1:8000")


def test_a_speed_that_no_server_takes_is_a_wrong_call(spoken: Path) -> None:
    with pytest.raises(CommandError) as failed:
        rehearsed(spoken / "silence.wav", "--url", "ws://127.0.0.1:1", "--speed", "8")
    assert failed.value.returncode == 2
