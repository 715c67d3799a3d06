"""`manage.py rehearse`: play a recording as a live answer and print what the page would have seen."""

from __future__ import annotations

import asyncio
import json
import logging
from argparse import ArgumentParser, ArgumentTypeError
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from django.core.management.base import CommandError

from apps.live.intake import CATCH_UP
from apps.live.rehearsal_client import UrlRefused, rehearse_through
from apps.ops.command import PlainCommand
from apps.ops.engine_settings import llm_config, recognizer_config, why_no_speech
from inference.assessment import Language, QuestionSpec
from inference.bootstrap import AudioUnreadable, build_engines, close_engines, read_audio, start_engines
from inference.brief import AnswerBrief
from inference.nlp.language import detect
from inference.ports import EngineUnavailable
from inference.rehearsal import Summary, rehearse

DEFAULT_QUESTION = "Tell me about a time you solved a hard technical problem."


def _speed(raw: str) -> float:
    try:
        speed = float(raw)
    except ValueError:
        speed = 0.0
    if not 0.1 <= speed <= 20:
        raise ArgumentTypeError("use a number from 0.1 to 20")
    return speed


class Command(PlainCommand):
    help = (
        "Play a recording as a live answer, at real-time pace, through the session code that a browser uses."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("audio", type=Path, help="a recording in any format that PyAV reads")
        parser.add_argument("--question", default=DEFAULT_QUESTION, help="what was asked")
        parser.add_argument("--language", choices=["auto", "en", "zh"], default="auto")
        parser.add_argument("--terms", default="", help='names likely to be said, such as "Kafka, gRPC"')
        parser.add_argument("--speed", type=_speed, default=1.0, help="times real time (default 1)")
        parser.add_argument(
            "--url", help="play through a running server's socket, such as ws://127.0.0.1:8000"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object a line, the summary last")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"]:
            logging.getLogger().setLevel(logging.WARNING)
        try:
            pcm = read_audio(options["audio"])
            asyncio.run(self._play(pcm, options))
        except (AudioUnreadable, UrlRefused, EngineUnavailable) as exc:
            raise CommandError(str(exc)) from exc

    async def _play(self, pcm: bytes, options: dict[str, Any]) -> None:
        question = _question(options)
        summary = Summary(options["speed"])
        if options["url"]:
            if options["speed"] > CATCH_UP:
                raise CommandError(
                    f"With --url use --speed up to {CATCH_UP:g}: a server takes no more.", returncode=2
                )
            events = rehearse_through(options["url"], pcm, question, summary)
            await self._print(events, options)
        else:
            await self._play_here(pcm, _brief(question, options), summary, options)
        line = summary.line()
        self.stdout.write(json.dumps(line, ensure_ascii=False) if options["json"] else _in_words(line))

    async def _play_here(
        self, pcm: bytes, brief: AnswerBrief, summary: Summary, options: dict[str, Any]
    ) -> None:
        recognizer = recognizer_config()
        if recognizer is None:
            raise EngineUnavailable(why_no_speech())
        engines = build_engines(recognizer, llm_config())
        try:
            await start_engines(engines)
            await self._print(rehearse(engines, pcm, brief, summary), options)
        finally:
            await close_engines(engines)

    async def _print(self, events: Any, options: dict[str, Any]) -> None:
        async with aclosing(events) as closing:
            async for at_s, event in closing:
                if options["json"]:
                    line = {"at_s": round(at_s, 3), **event.model_dump(mode="json", exclude={"eid"})}
                    self.stdout.write(json.dumps(line, ensure_ascii=False))
                else:
                    self.stderr.write(f"{at_s:7.2f} s  {event.type}")


def _question(options: dict[str, Any]) -> QuestionSpec:
    language = options["language"]
    if language == "auto":
        language = detect(options["question"])
    terms = tuple(term.strip() for term in options["terms"].split(",") if term.strip())
    return QuestionSpec(text=options["question"], language=cast(Language, language), terms=terms)


def _brief(question: QuestionSpec, options: dict[str, Any]) -> AnswerBrief:
    spoken = None if options["language"] == "auto" else question.language
    return AnswerBrief(turn=1, question=question, limit_s=600.0, spoken=spoken)


def _in_words(line: dict[str, Any]) -> str:
    if not line["turns"]:
        return "No speech was heard."
    return (
        f"{line['transcript']}\n\n{line['score']}/10, grade {line['grade']} ({line['source']})\n"
        f"{line['weakness']}\n{line['follow_up']}\n"
        f"first content {line['first_content_s']} s, score final {line['soft_commit_s']} s, "
        f"speech ended {line['speech_end_s']} s"
    )
