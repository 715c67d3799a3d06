"""`manage.py score`: assess typed answers exactly as a live answer is. Needs no server, Redis or database."""

from __future__ import annotations

import asyncio
import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from django.core.management.base import CommandError

from apps.ops.command import PlainCommand
from apps.ops.engine_settings import llm_config
from inference.assessment import Answer, Language, QuestionKind, QuestionSpec
from inference.bootstrap import build_engines, close_engines
from inference.feedback import Judge
from inference.nlp.language import detect
from inference.nlp.summary import answer_summary
from inference.observe import ignore
from inference.ports import Engines

KINDS: tuple[str, ...] = get_args(QuestionKind)


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    id: str
    answer: Answer


class Command(PlainCommand):
    help = "Assess typed answers: one with --question and --answer, or many with --file (JSON lines)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--question", help="the question that was asked")
        parser.add_argument("--answer", help="the answer to it")
        parser.add_argument("--language", choices=["auto", "en", "zh"], default="auto")
        parser.add_argument("--kind", choices=KINDS, help="kind of question (default: found from its words)")
        parser.add_argument(
            "--file",
            type=Path,
            help='JSON lines with "question", "answer" and, if you like, "id", "language", "kind"',
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        asyncio.run(self._assess_all(list(_typed_answers(options)), as_json=options["json"]))

    async def _assess_all(self, typed: list[TypedAnswer], *, as_json: bool) -> None:
        engines = build_engines(None, llm_config())
        try:
            for one in typed:
                summary = await _assess(engines, one)
                self.stdout.write(json.dumps(summary, ensure_ascii=False) if as_json else _in_words(summary))
        finally:
            await close_engines(engines)


def _typed_answers(options: dict[str, Any]) -> Iterator[TypedAnswer]:
    if options["file"] is not None:
        if options["question"] or options["answer"]:
            raise CommandError("Use --file, or --question with --answer, not both.", returncode=2)
        yield from _from_file(options["file"], options)
        return
    if not options["question"] or options["answer"] is None:
        raise CommandError("Give --question and --answer, or --file answers.jsonl.", returncode=2)
    yield _typed({"question": options["question"], "answer": options["answer"]}, options, "1")


def _from_file(path: Path, options: dict[str, Any]) -> Iterator[TypedAnswer]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise CommandError(f"{path} cannot be read ({exc}). Give a UTF-8 file of JSON lines.") from exc
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _typed(json.loads(line), options, str(number))
            except (ValueError, TypeError, KeyError, AttributeError) as exc:
                raise CommandError(
                    f'{path} line {number}: needs a JSON object with "question" and "answer" as text '
                    '("language" is en or zh, "kind" one that --kind takes).'
                ) from exc


def _typed(row: dict[str, Any], options: dict[str, Any], number: str) -> TypedAnswer:
    question, text = row["question"], row["answer"]
    if not isinstance(question, str) or not isinstance(text, str):
        raise TypeError("question and answer must be text")
    chosen = options["language"] if options["language"] != "auto" else row.get("language") or detect(question)
    if chosen not in {"en", "zh"}:
        raise ValueError("language must be en or zh")
    kind = options["kind"] or row.get("kind")
    if kind not in {None, *KINDS}:
        raise ValueError("kind must be one that --kind takes")
    spec = QuestionSpec(
        text=question,
        language=cast(Language, chosen),
        kind=cast("QuestionKind | None", kind),
        expected_points=tuple(row.get("expected_points", ())),
        terms=tuple(row.get("terms", ())),
    )
    return TypedAnswer(str(row.get("id", number)), Answer(spec, text))


async def _assess(engines: Engines, typed: TypedAnswer) -> dict[str, Any]:
    began = time.perf_counter()
    judge = Judge(turn=1, llm=engines.llm, emit=lambda event: None, observe=ignore)
    assessment = await judge.judge(typed.answer)
    elapsed_ms = round((time.perf_counter() - began) * 1000, 2)
    return {"id": typed.id, **answer_summary(assessment), "elapsed_ms": elapsed_ms}


def _in_words(summary: dict[str, Any]) -> str:
    score = "no score" if summary["score"] is None else f"{summary['score']}/10, grade {summary['grade']}"
    flags = f" [{', '.join(summary['flags'])}]" if summary["flags"] else ""
    return f"{summary['id']}: {score} ({summary['source']}){flags}\n  {summary['weakness']}"
