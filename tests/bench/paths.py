"""The path from the last word to feedback: decoding alone, and the whole session at real-time pace."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from inference import events as ev
from inference.assessment import Answer, Language, QuestionSpec
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE
from inference.bootstrap import build_engines, close_engines, compare_windows, start_engines
from inference.brief import AnswerBrief
from inference.config import LlmConfig, RecognizerConfig
from inference.nlp.score import assess, warm_up
from inference.rehearsal import Summary, rehearse
from tests.bench.figures import Row, Table
from tests.inference.nlp.judging import STORY, STORY_ZH, labelled
from tests.inference.spoken import MODEL, clip

TAIL_S = 3.0


def tail(name: str = "star_quantified", trailing_s: float = 0.0) -> bytes:
    """The last three seconds of speech of a spoken answer, and some of the silence after them."""
    whole = clip(name)
    end = round((whole.speech_end_s + trailing_s) * SAMPLE_RATE) * BYTES_PER_SAMPLE
    start = round((whole.speech_end_s - TAIL_S) * SAMPLE_RATE) * BYTES_PER_SAMPLE
    return whole.pcm[start:end]


def decode_cut_against_padded(rounds: int) -> Table:
    """The same 3 s through the cut window and through Whisper's 30 s, turn by turn in one process."""
    found = compare_windows(RecognizerConfig(MODEL), tail(trailing_s=0.2), rounds)
    times = {"cut": list(found.cut_s), "padded": list(found.padded_s)}
    ratios = [c / p for c, p in zip(times["cut"], times["padded"], strict=True)]
    return Table(
        "Decode of a 3 s tail, with word times (base, int8)",
        [
            Row("cut window, max(10 s, length + 2 s)", times["cut"], "s"),
            Row("padded to 30 s", times["padded"], "s"),
            Row("cut : padded", ratios, "", goal=0.5),
        ],
    )


def rules_on_long_answers(rounds: int) -> Table:
    """300 words of English and 500 characters of Chinese, judged by the rules; the process's own time."""
    warm_up()
    spent: dict[Language, list[float]] = {"en": [], "zh": []}
    for _ in range(10 * rounds):
        for language, seconds in spent.items():
            answer = _long_answer(language)
            started_s = time.process_time()
            assess(answer)
            seconds.append(time.process_time() - started_s)
    return Table(
        "A long answer judged by the rules",
        [
            Row("English, 300 words", spent["en"], "s", goal=0.01),
            Row("Chinese, 500 characters", spent["zh"], "s", goal=0.01),
        ],
    )


def _long_answer(language: Language) -> Answer:
    good = (row["answer"] for row in labelled("own") if (row["language"], row["band"]) == (language, "high"))
    said = " ".join(good)
    text = " ".join(said.split()[:300]) if language == "en" else said[:500]
    return Answer(QuestionSpec(STORY if language == "en" else STORY_ZH, language), text)


@dataclass
class _Marks:
    """When, on the clock of the first frame, things came."""

    final_s: float = 0.0
    paused_s: float = 0.0
    content_s: float = 0.0
    provisional_s: float = 0.0
    speech_end_s: float = 0.0
    observed: dict[str, list[float]] = field(default_factory=dict)

    def add(self, at_s: float, event: ev.Event) -> None:
        match event:
            case ev.TranscriptFinal():
                self.final_s = at_s
            case ev.TurnPaused():
                self.paused_s = at_s
            case ev.FeedbackScore(provisional=True):
                self.provisional_s = at_s
            case ev.FeedbackScore():
                self.content_s = at_s
            case ev.TurnEnded(speech_end_s=speech_end_s) if speech_end_s is not None:
                self.speech_end_s = speech_end_s


async def end_of_speech(rounds: int) -> Table:
    """A 3 s answer at real-time pace, again and again: last words and scores."""
    engines = build_engines(RecognizerConfig(MODEL), LlmConfig())
    await start_engines(engines)
    question = QuestionSpec("Tell me about a time you solved a hard technical problem.", "en")
    pcm = tail() + bytes(2 * SAMPLE_RATE * BYTES_PER_SAMPLE)
    marks: list[_Marks] = []
    asr: list[float] = []
    analysis: list[float] = []
    try:
        for _ in range(rounds):
            mark, summary = _Marks(), Summary()
            async for at_s, event in rehearse(engines, pcm, AnswerBrief(1, question, spoken="en"), summary):
                mark.add(at_s, event)
            marks.append(mark)
            hops = summary.line()["hops"]
            asr.append(hops["asr_s"])
            analysis.append(hops["analysis_s"])
    finally:
        await close_engines(engines)
    return Table(
        "End of a 3 s answer, real-time pace (base, int8, rules)",
        [
            Row("speech end → final transcript", [m.final_s - m.speech_end_s for m in marks], "s", goal=0.6),
            Row("speech end → provisional score", [m.provisional_s - m.speech_end_s for m in marks], "s"),
            Row("speech end → soft commit", [m.paused_s - m.speech_end_s for m in marks], "s"),
            Row("soft commit → first content", [m.content_s - m.paused_s for m in marks], "s", goal=0.3),
            Row("recogniser, asked → answered", asr, "s"),
            Row("rules", analysis, "s", goal=0.01),
        ],
    )
