"""The process that holds the Whisper model: `python -m inference.adapters.whisper_worker`.

Reads requests from stdin, answers one at a time on stdout, ends with its parent. Knows no priority.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from inference.adapters import wire
from inference.audio import SAMPLE_RATE
from inference.ports import Speech

if TYPE_CHECKING:
    from inference.adapters.decode import Decoder

PR_SET_PDEATHSIG = 1
WARM_UP_S = 1.5


def die_with(parent: int) -> None:
    """End with the parent even after kill -9: Linux watches the thread that started us."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(0)


def listen(pipe: BinaryIO, requests: queue.Queue[tuple[wire.Header, bytes]]) -> None:
    """Hand requests over; when the parent is gone, end at once, even in the middle of a decode."""
    try:
        while (message := wire.receive_blocking(pipe)) is not None:
            requests.put(message)
    finally:
        os._exit(0)


def claim_stdout() -> BinaryIO:
    """Keep stdout for messages: whatever a library prints goes to stderr."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return out


def load(options: argparse.Namespace) -> Decoder:
    from inference.adapters.decode import Decoder  # noqa: PLC0415 - seconds of imports, after the pipes are up

    decoder = Decoder(options.model_dir, options.device, options.compute_type, options.threads)
    if options.warm_up:  # the first decode allocates and picks kernels: not in someone's first answer
        noise = os.urandom(int(WARM_UP_S * SAMPLE_RATE) * 2)
        decoder.decode(Speech(noise, "en", voiced_s=1.0, answer_within_s=0.0))
    return decoder


def serve(decoder: Decoder, requests: queue.Queue[tuple[wire.Header, bytes]], out: BinaryIO) -> None:
    while True:
        header, pcm = requests.get()
        try:
            transcript = decoder.decode(*wire.speech_from(header, pcm))
            answer = wire.transcript_header(transcript)
        except Exception as exc:  # noqa: BLE001 - the process's top: one bad request must not end it
            answer = {"error": f"{type(exc).__name__}"}
        send(out, answer)


def send(out: BinaryIO, header: wire.Header) -> None:
    out.write(wire.pack(header))
    out.flush()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="whisper_worker", description=__doc__)
    parser.add_argument("--model-dir", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compute-type", default="int8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--warm-up", action="store_true")
    options = parser.parse_args(arguments)
    die_with(options.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    if options.nice:
        os.nice(options.nice)
    out = claim_stdout()
    requests: queue.Queue[tuple[wire.Header, bytes]] = queue.Queue(maxsize=2)
    threading.Thread(target=listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    began = time.perf_counter()
    try:
        decoder = load(options)
    except Exception as exc:  # noqa: BLE001 - whatever a broken model makes of itself, it becomes one line
        send(out, {"ready": False, "line": f"{type(exc).__name__}: {exc}".splitlines()[0][:200]})
        return 1
    send(out, {"ready": True, "load_s": round(time.perf_counter() - began, 3)})
    serve(decoder, requests, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
