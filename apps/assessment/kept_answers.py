"""From rows and recordings to what the analysis reads: the answer as it was kept."""

from __future__ import annotations

import logging
import wave
from pathlib import Path
from typing import Any, cast

from django.conf import settings

from apps.assessment.analysis import GivenAnswer
from apps.interviews.models import Turn, Utterance
from apps.interviews.selectors import answer_language, planned_question, question_spec
from inference.assessment import Language, Word
from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE
from inference.ports import Transcript
from inference.transcription import HeardUtterance, Missing

logger = logging.getLogger(__name__)


def given_answer(turn: Turn) -> GivenAnswer:
    """One answer with its question, live words and recording."""
    spoken = turn.input == "voice"
    live = turn.utterances.filter(decode=Utterance.Decode.LIVE)
    return GivenAnswer(
        turn=turn.number,
        question=question_spec(
            planned_question(turn.question),
            text=turn.question_text,
            follow_up=turn.kind == Turn.Kind.FOLLOW_UP,
            language=answer_language(turn.interview, turn.transcript),
        ),
        transcript=turn.transcript,
        heard=tuple(heard_utterance(row, turn.interview.language) for row in live),
        pcm=recording_pcm(turn) if spoken else b"",
        speech_s=turn.speech_s if spoken else None,
        low_confidence=turn.low_confidence,
        unheard=spoken and turn.status == Turn.Status.UNSCORED,
        late=turn.late_s > 0 or not turn.audio_complete,
        missing=missing_of(turn),
        partial=bool(turn.missing) or not turn.audio_complete,
        subject=turn.interview.template.title,
    )


def missing_of(turn: Turn) -> tuple[Missing, ...]:
    """The holes of the answer in the order of its audio."""
    rows = cast("list[dict[str, Any]]", turn.missing)
    holes = (Missing(float(row["at_s"]), float(row["seconds"]), row["why"]) for row in rows)
    return tuple(sorted(holes, key=lambda hole: hole.at_s))


def heard_utterance(row: Utterance, language: str) -> HeardUtterance:
    words = tuple(Word(**word) for word in row.words)
    transcript = Transcript(
        row.text,
        cast(Language, language),
        words,
        row.confidence,
        low_confidence=row.low_confidence,
        raw=row.raw_text,
    )
    return HeardUtterance(row.number, transcript, row.start_s, row.end_s)


def recording_pcm(turn: Turn) -> bytes:
    """The recording as 16 kHz mono PCM16; empty when there is none that can be read."""
    if not turn.audio_path:
        return b""
    try:
        with wave.open(str(Path(settings.MEDIA_ROOT) / turn.audio_path), "rb") as file:
            shape = (file.getframerate(), file.getnchannels(), file.getsampwidth())
            if shape == (SAMPLE_RATE, 1, BYTES_PER_SAMPLE):
                return file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error) as exc:
        logger.warning("recording of turn %d cannot be read: %s", turn.pk, type(exc).__name__)
        return b""
    logger.warning("recording of turn %d is not 16 kHz mono PCM16", turn.pk)
    return b""
