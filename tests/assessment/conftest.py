from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_django import Settings

from apps.assessment import reader


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "NICE", 0)  # the test process is not a worker


@pytest.fixture
def wav(settings: Settings) -> Callable[[str, bytes], str]:
    def write(name: str, pcm: bytes) -> str:
        with wave.open(str(Path(settings.MEDIA_ROOT) / name), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16_000)
            file.writeframes(pcm)
        return name

    return write
