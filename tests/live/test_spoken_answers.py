"""Every recorded answer of the repository through the live session, and one through a server's own socket."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from inference.assessment import QuestionSpec
from inference.bootstrap import build_engines, close_engines, start_engines
from inference.brief import AnswerBrief
from inference.config import LlmConfig, RecognizerConfig
from inference.rehearsal import Summary, rehearse
from tests.database import site_environment
from tests.inference.spoken import SPOKEN, Clip, clip, clips, errors
from tests.ops.site import Site, manage

pytestmark = pytest.mark.model

SPEED = 4.0  # the clocks of a turn run on the audio's time, so playing faster changes no decision
MANIFEST: dict[str, Any] = {
    entry["id"]: entry for entry in json.loads((SPOKEN / "manifest.json").read_text())
}
SPEECH = [name for name, entry in MANIFEST.items() if entry["text"]]
NOISE = [name for name, entry in MANIFEST.items() if not entry["text"]]
JARGON = clip("jargon").terms
LONG = {"star_quantified", "long_answer"}
Summaries = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def summaries(model_dir: Path) -> Summaries:
    return asyncio.run(_rehearse_all(model_dir))


def terms_for(spoken: Clip) -> tuple[str, ...]:
    """An answer's own; short ones and noise are heard with those of another question."""
    return () if spoken.id in LONG else spoken.terms or JARGON


async def _rehearse_all(model_dir: Path) -> Summaries:
    engines = build_engines(RecognizerConfig(model_dir), LlmConfig())
    await start_engines(engines)
    found: Summaries = {}
    try:
        for spoken in clips():
            asked = MANIFEST[spoken.id]["question"] or "Tell me about yourself."
            question = QuestionSpec(asked, "en", terms=terms_for(spoken))
            summary = Summary(SPEED)
            brief = AnswerBrief(turn=1, question=question, limit_s=600, spoken="en")
            async for _ in rehearse(engines, spoken.pcm, brief, summary):
                pass
            found[spoken.id] = summary.line()
    finally:
        await close_engines(engines)
    return found


@pytest.mark.parametrize("name", SPEECH)
def test_a_spoken_answer_is_one_turn_with_its_words(summaries: Summaries, name: str) -> None:
    summary = summaries[name]
    assert summary["turns"] == 1
    edits, words = errors(MANIFEST[name]["text"], summary["transcript"])
    assert edits / words <= 0.10, summary["transcript"]
    assert summary["speech_end_s"] * SPEED == pytest.approx(MANIFEST[name]["speech_end_s"], abs=0.2)


def test_names_come_out_as_the_question_writes_them_and_where_they_were_said_alone(
    summaries: Summaries,
) -> None:
    heard = {
        name: {term for term in JARGON if term in line["transcript"]} for name, line in summaries.items()
    }
    assert heard.pop("jargon") == set(JARGON)
    assert not any(heard.values())


@pytest.mark.parametrize("name", NOISE)
def test_silence_and_noise_are_no_turn_and_no_words(summaries: Summaries, name: str) -> None:
    summary = summaries[name]
    assert (summary["turns"], summary["transcript"], summary["score"]) == (0, "", None)


@pytest.mark.parametrize(
    "name", [name for name in SPEECH if {"score_min", "score_max"} & set(MANIFEST[name])]
)
def test_a_spoken_answer_scores_where_it_should(summaries: Summaries, name: str) -> None:
    expected, score = MANIFEST[name], summaries[name]["score"]
    assert expected.get("score_min", 0) <= score <= expected.get("score_max", 10)


def test_the_outcomes_of_a_good_answer_are_quoted_from_its_words(summaries: Summaries) -> None:
    summary = summaries["star_quantified"]
    quotes = [quote for detail in summary["details"].values() for quote in detail["quotes"]]
    assert all(quote in summary["transcript"] for quote in quotes)
    said = " ".join(quotes).lower().replace("40%", "forty percent")
    assert "forty percent" in said
    assert "no outage" in said


def test_through_a_servers_socket_the_same_comes_out(
    summaries: Summaries, model_dir: Path, tmp_path: Path
) -> None:
    var = tmp_path / "site"
    var.mkdir()
    with Site(var, "--noreload") as site:
        site.started()
        done = manage(
            var,
            "rehearse",
            str(SPOKEN / "star_quantified.wav"),
            *("--question", MANIFEST["star_quantified"]["question"]),
            *("--language", "en", "--speed", "2", "--url", f"ws://127.0.0.1:{site.port}", "--json"),
            **site_environment(var),
        )
        site.stop()
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    here = summaries["star_quantified"]
    assert [summary[key] for key in ("turns", "score", "grade")] == [
        here[key] for key in ("turns", "score", "grade")
    ]
    assert summary["follow_up"] == here["follow_up"]
    edits, words = errors(here["transcript"], summary["transcript"])
    assert edits / words <= 0.05
