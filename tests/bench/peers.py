"""Who ours are compared with: plain faster-whisper, and a WhisperLive server where one is installed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from inference.audio import SAMPLE_RATE, WINDOW_S
from inference.rehearsal import CHUNK_S, chunks
from tests.bench.recordings import Recording, samples
from tests.bench.shown import TAIL_S, Shown
from tests.bench.voice import ENDPOINTING, probabilities
from tests.inference.spoken import MODEL, ROOT

THREADS = 2
RULE_S = 0.3  # of silence: the quickest rule that anybody uses
START_S = 120.0
READY_S = 60.0
SERVE = (
    "import sys; from whisper_live.server import TranscriptionServer; TranscriptionServer().run('127.0.0.1', "
    "int(sys.argv[1]), backend='faster_whisper', faster_whisper_custom_model_path=sys.argv[2], "
    "single_model=True, max_clients=32)"
)


@dataclass(frozen=True, slots=True)
class Take:
    """One speaker of a round, who begins so long after its beginning."""

    recording: Recording
    starts_s: float

    @property
    def ends_s(self) -> float:
        return self.starts_s + self.recording.speech_end_s


class Plain:
    """One model, asked with its own defaults (beam 5, 30 s window) for the whole answer once it is over.

    Its rule has the answer end 0.3 s after the last voice, and never cuts anybody off: better than it could.
    """

    def __init__(self) -> None:
        self._model = WhisperModel(
            str(MODEL), compute_type="int8", cpu_threads=THREADS, local_files_only=True
        )
        self._line = ThreadPoolExecutor(1)  # as they come: one decode at a time has both cores

    async def play(self, takes: Sequence[Take]) -> list[Shown]:
        """Nothing happens before somebody has ended: the round begins shortly before."""
        began = time.monotonic() - min(take.ends_s for take in takes)
        return list(await asyncio.gather(*(self._one(take, began) for take in takes)))

    async def _one(self, take: Take, began: float) -> Shown:
        one = take.recording
        asked_s = rule_ends(one)
        await asyncio.sleep(max(0.0, began + take.starts_s + asked_s - time.monotonic()))
        heard = samples(one.then_silence(TAIL_S))[: round(asked_s * SAMPLE_RATE)]
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(self._line, self._transcribe, heard, one.language)
        return Shown(one, [(time.monotonic() - began - take.ends_s, text)])

    def _transcribe(self, heard: np.ndarray, language: str) -> str:
        return " ".join(part.text.strip() for part in self._model.transcribe(heard, language=language)[0])


def rule_ends(one: Recording) -> float:
    """When a rule of 0.3 s of silence takes the recording for over."""
    scores = probabilities(one.then_silence(TAIL_S))
    last = max(i for i, score in enumerate(scores, 1) if score >= ENDPOINTING.speech_threshold)
    return last * WINDOW_S + RULE_S


class WhisperLive:
    """A server on the same weights, and its clients, which send as a page does and read what comes."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process, self._url = process, f"ws://127.0.0.1:{port}"

    async def play(self, takes: Sequence[Take]) -> list[Shown]:
        sockets = [await self._ready(take) for take in takes]
        began = time.monotonic()
        ways = (self._one(way, take, began) for way, take in zip(sockets, takes, strict=True))
        return list(await asyncio.gather(*ways))

    def close(self) -> None:
        self._process.send_signal(signal.SIGKILL)  # it does not end on less while a client's thread waits
        self._process.wait(timeout=10)

    async def warm_up(self, one: Recording) -> None:
        """The model is loaded with the first client."""
        await self.play([Take(one, 0.0)])

    async def _ready(self, take: Take) -> ClientConnection:
        way = await connect(self._url, max_size=None)
        hello = {"uid": str(id(take)), "language": take.recording.language, "task": "transcribe"}
        await way.send(json.dumps({**hello, "model": str(MODEL), "use_vad": True}))
        async with asyncio.timeout(READY_S):
            while json.loads(await way.recv()).get("message") != "SERVER_READY":
                pass
        return way

    async def _one(self, way: ClientConnection, take: Take, began: float) -> Shown:
        shown = Shown(take.recording)
        reading = asyncio.create_task(self._read(way, shown, began + take.ends_s))
        try:
            for number, frame in enumerate(chunks(take.recording.then_silence(TAIL_S)), 1):
                due = began + take.starts_s + number * CHUNK_S
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                await way.send(samples(frame).tobytes())
        except ConnectionClosed:
            pass  # what it had said by then counts
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            await way.close()
        return shown

    async def _read(self, way: ClientConnection, shown: Shown, ended: float) -> None:
        async for message in way:
            segments = json.loads(message).get("segments", [])
            if segments:
                text = " ".join(segment["text"].strip() for segment in segments)
                shown.texts.append((time.monotonic() - ended, text))


async def whisper_live(warm_up: Recording) -> WhisperLive | None:
    """A server that speaks, or None where it is not installed (see docs/performance.md)."""
    python = Path(os.environ.get("BENCH_PEERS") or ROOT / "var" / "peers" / "bin" / "python")
    if not python.exists():
        return None
    port = _free_port()
    command = [str(python), "-c", SERVE, str(port), str(MODEL)]
    env = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "PYTHONWARNINGS": "ignore"}
    server = WhisperLive(subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL), port)
    try:
        async with asyncio.timeout(START_S):
            while not _listens(port):
                await asyncio.sleep(0.2)
            await server.warm_up(warm_up)
    except (OSError, TimeoutError, ConnectionClosed) as exc:
        print(f"WhisperLive does not answer: {type(exc).__name__}", file=sys.stderr)
        server.close()
        return None
    return server


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
