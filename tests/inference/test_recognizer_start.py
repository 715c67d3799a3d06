"""A recogniser that cannot start yet, for want of something that is not the model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest

from inference.adapters.faster_whisper import FasterWhisperRecognizer
from inference.config import RecognizerConfig
from inference.ports import EngineUnavailable, Priority, Speech
from tests.inference.spoken import clip

pytestmark = pytest.mark.model
WITHIN_S = 60.0


async def test_a_process_that_cannot_be_started_for_want_of_anything_fails_who_waits_and_is_tried_again(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference.adapters.worker_seat.FIRST_BACKOFF_S", 0.01)
    recognizer = FasterWhisperRecognizer(RecognizerConfig(model_dir))
    with monkeypatch.context() as without_files:
        without_files.setattr(
            "inference.adapters.worker_process.socket.socketpair",
            Mock(side_effect=OSError(24, "Too many open files")),
        )
        with pytest.raises(EngineUnavailable, match="OSError"):
            await asyncio.wait_for(recognizer.start(), WITHIN_S)
    async with asyncio.timeout(WITHIN_S):
        while not recognizer.ready:
            await asyncio.sleep(0.01)
        assert (await recognizer.transcribe(Speech(clip("short_no").pcm, "en"), Priority.FINAL)).text
    await recognizer.aclose()
