"""`manage.py score`: the contract's mapping on standard output, one line for whatever is wrong."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

QUESTION = "Tell me about a time you solved a hard technical problem."
STRONG = (
    "In my last job our checkout service was timing out and I was responsible for fixing it. "
    "First I profiled the hot path, then I cached the catalogue. "
    "As a result latency fell by 40% in three months."
)


def scored(*arguments: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("score", *arguments, "--json", stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_an_answer_gets_every_key_that_scripts_rely_on() -> None:
    [row] = scored("--question", QUESTION, "--answer", STRONG)
    assert set(row) == {
        "id", "score", "grade", "weakness", "star", "quantified", "relevance", "fillers", "flags", "source",
        "elapsed_ms",
    }  # fmt: skip
    assert (row["score"] >= 7, row["source"]) == (True, "rules")
    assert set(row["star"]) == {"situation", "task", "action", "result"}
    assert any("40%" in quote for quote in row["quantified"])


def test_an_empty_answer_has_no_score() -> None:
    [row] = scored("--question", QUESTION, "--answer", "…")
    assert (row["score"], row["grade"]) == (None, None)


def test_a_file_is_scored_line_by_line_in_its_order(tmp_path: Path) -> None:
    rows = [
        {"id": "good", "question": QUESTION, "answer": STRONG},
        {"id": "没有", "question": "请讲一次你解决技术难题的经历。", "answer": "不知道。"},
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    found = scored("--file", str(path))
    assert [row["id"] for row in found] == ["good", "没有"]
    assert found[0]["score"] > found[1]["score"]
    assert "refusal" in found[1]["flags"]


def test_a_model_server_that_is_down_leaves_the_rules_score(settings: Settings) -> None:
    settings.LLM_URLS = ("http://127.0.0.1:1/v1",)
    assert scored("--question", QUESTION, "--answer", STRONG)[0]["source"] == "rules"


@pytest.mark.parametrize(
    "line",
    ["no json", "[]", '{"question": "Why?"}', '{"question": "Why?", "answer": 3}',
     '{"question": "Why?", "answer": "So.", "kind": "funny"}',
     '{"question": "Why?", "answer": "So.", "language": "fr"}'],
)  # fmt: skip
def test_a_line_that_is_no_answer_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"\n{line}\n")
    with pytest.raises(CommandError, match="line 2: needs a JSON object") as failed:
        scored("--file", str(path))
    assert failed.value.returncode == 1


@pytest.mark.parametrize("arguments", [(), ("--question", "Why?"), ("--file", "a", "--answer", "b")])
def test_called_wrongly_it_says_how(arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as failed:
        scored(*arguments)
    assert failed.value.returncode == 2


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        scored("--file", str(tmp_path / "none.jsonl"))
