"""Play a recording as a live answer, at real-time pace, and sum up what the page would have seen.

The same summary is built from a server's socket: it reads events only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from inference import events as ev
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, AudioChunk
from inference.brief import AnswerBrief
from inference.config import SessionConfig
from inference.ports import Engines
from inference.session import AnswerSession
from inference.transcription import join_texts

CHUNK_S = 0.1
CHUNK_BYTES = round(CHUNK_S * SAMPLE_RATE) * BYTES_PER_SAMPLE


def chunks(pcm: bytes) -> list[bytes]:
    """The recording as the page would send it: frames of 100 ms, the last one shorter."""
    return [pcm[at : at + CHUNK_BYTES] for at in range(0, len(pcm), CHUNK_BYTES)]


async def rehearse(
    engines: Engines,
    pcm: bytes,
    brief: AnswerBrief,
    summary: Summary,
    config: SessionConfig | None = None,
) -> AsyncIterator[tuple[float, ev.Event]]:
    """Yield (at_s, event) as they happen; `at_s` counts from the first frame.

    A turn that the server ends before the recording does is followed by another one over the rest.
    At the end of the recording Done is pressed.
    """
    frames = chunks(pcm)
    began = time.monotonic()
    sent, turn = 0, brief.turn
    while sent < len(frames) or turn == brief.turn:
        session = AnswerSession(engines, replace(brief, turn=turn), config, summary.observe)
        summary.turn_began(turn, sent * CHUNK_S)
        player = _Player(session, frames, sent, began, summary.speed)
        async for event in _events(session, player):
            at_s = time.monotonic() - began
            summary.add(at_s, event)
            yield at_s, event
        sent, turn = player.sent, turn + 1


@dataclass(slots=True)
class _Player:
    """Pushes frames when their time has come, until the recording or the turn is over."""

    session: AnswerSession
    frames: list[bytes]
    sent: int
    began: float
    speed: float

    async def play(self) -> None:
        samples = 0
        while self.sent < len(self.frames):
            due = self.began + (self.sent + 1) * CHUNK_S / self.speed
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            frame = self.frames[self.sent]
            self.session.push(AudioChunk(samples, frame))
            samples += len(frame) // BYTES_PER_SAMPLE
            self.sent += 1
        self.session.done()


async def _events(session: AnswerSession, player: _Player) -> AsyncIterator[ev.Event]:
    running = asyncio.create_task(session.run())
    playing = asyncio.create_task(player.play())
    try:
        async for event in session.events:
            if isinstance(event, ev.TurnEnded):
                playing.cancel()  # the floor is the interviewer's: the rest belongs to the next turn
            yield event
        await running
    finally:
        running.cancel()
        playing.cancel()
        await asyncio.gather(running, playing, return_exceptions=True)


@dataclass(slots=True)
class _Turn:
    began_s: float
    finals: dict[int, ev.TranscriptFinal] = field(default_factory=dict)
    ended: ev.TurnEnded | None = None
    ended_at_s: float | None = None
    paused_at_s: float | None = None
    score: ev.FeedbackScore | None = None
    provisional: list[float] = field(default_factory=list)
    weakness: dict[int, str] = field(default_factory=dict)
    details: dict[int, dict[str, dict[str, Any]]] = field(default_factory=dict)
    content_at_s: float | None = None
    done: ev.FeedbackDone | None = None
    follow_up: str = ""

    def speech_end_s(self, speed: float) -> float | None:
        heard = self.ended.speech_end_s if self.ended else None
        return None if heard is None else (self.began_s + heard) / speed

    @property
    def text(self) -> str:
        return join_texts([final.text for _, final in sorted(self.finals.items())])


class Summary:
    """The last line of `rehearse`, gathered from events. Times in seconds after the first frame was sent."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed
        self._turns: dict[int, _Turn] = {}
        self._hops: dict[str, float] = {}

    def observe(self, name: str, value: float) -> None:
        """Keep the last value of each hop (an Observe)."""
        self._hops[name] = value

    def turn_began(self, turn: int, at_audio_s: float) -> None:
        """`at_audio_s`: where in the recording the turn's audio begins."""
        self._turns[turn] = _Turn(at_audio_s)

    def add(self, at_s: float, event: ev.Event) -> None:
        turn = self._turns.get(getattr(event, "turn", 0))
        if turn is None:
            return
        match event:
            case ev.TranscriptFinal():
                turn.finals[event.utterance] = event
            case ev.TurnPaused():
                turn.paused_at_s = at_s
            case ev.TurnResumed():
                turn.paused_at_s = None
            case ev.TurnEnded():
                turn.ended, turn.ended_at_s = event, at_s
            case ev.SpeechStarted():
                turn.content_at_s = None
            case ev.FollowUp(text=text):
                turn.follow_up = text
            case _:
                _add_feedback(turn, at_s, event)

    def line(self) -> dict[str, Any]:
        """The contract's summary. A recording without speech: no turns, no text, score and grade null."""
        spoken = [t for t in self._turns.values() if t.text]
        if not spoken:
            return _empty()
        last = spoken[-1]
        rev = last.score.rev if last.score else 0
        return {
            **_empty(),
            "turns": len(spoken),
            "transcript": join_texts([t.text for t in spoken]),
            "language": next(iter(last.finals.values())).language,
            "speech_end_s": _round(last.speech_end_s(self.speed)),
            "first_content_s": _round(last.content_at_s),
            "soft_commit_s": _round(last.paused_at_s if last.paused_at_s is not None else last.ended_at_s),
            "turn_end_s": _round(last.ended_at_s),
            "score": last.score.value if last.score else None,
            "grade": last.score.grade if last.score else None,
            "provisional_scores": [value for t in spoken for value in t.provisional],
            "weakness": last.weakness.get(rev, ""),
            "details": last.details.get(rev, {}),
            "follow_up": last.follow_up,
            "source": last.score.source if last.score else "rules",
            "low_confidence": any(f.low_confidence for t in spoken for f in t.finals.values()),
            "flags": list(last.done.flags) if last.done else [],
            "hops": {
                "endpoint_s": _round(self._hops.get("endpoint_s")),
                "asr_s": _round(self._hops.get("asr_s")),
                "analysis_s": _round(self._hops.get("analysis_s"), 4),
                "llm_first_s": _round(self._hops.get("llm_first_token_s")),
            },
        }


def _add_feedback(turn: _Turn, at_s: float, event: ev.Event) -> None:
    match event:
        case ev.FeedbackScore():
            _add_score(turn, at_s, event)
        case ev.FeedbackWithdrawn():
            turn.content_at_s = None  # speech went on: it did not cover the whole answer
            if turn.score is not None and turn.score.rev == event.rev:
                turn.score = None
        case ev.FeedbackDelta():
            _add_text(turn, event)
        case ev.FeedbackDone(provisional=False):
            turn.done = event


def _add_score(turn: _Turn, at_s: float, event: ev.FeedbackScore) -> None:
    if event.provisional:
        turn.provisional.append(event.value)
    else:
        turn.score = event
    if turn.content_at_s is None:
        turn.content_at_s = at_s


def _add_text(turn: _Turn, event: ev.FeedbackDelta) -> None:
    if event.dimension is None:
        turn.weakness[event.rev] = turn.weakness.get(event.rev, "") + event.text
        return
    details = turn.details.setdefault(event.rev, {})
    detail = details.setdefault(event.dimension, {"value": None, "quotes": [], "comment": ""})
    if event.value is not None:
        detail["value"], detail["quotes"] = event.value, list(event.quotes)
    detail["comment"] += event.text


def _round(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)


def _empty() -> dict[str, Any]:
    hops = dict.fromkeys(("endpoint_s", "asr_s", "analysis_s", "llm_first_s"))
    times = dict.fromkeys(("speech_end_s", "first_content_s", "soft_commit_s", "turn_end_s"))
    return {
        "type": "summary",
        "turns": 0,
        "transcript": "",
        "language": "",
        **times,
        "score": None,
        "grade": None,
        "provisional_scores": [],
        "weakness": "",
        "details": {},
        "follow_up": "",
        "source": "rules",
        "low_confidence": False,
        "flags": [],
        "hops": hops,
    }
