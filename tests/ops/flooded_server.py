"""Run as a process: our bounded Daphne in front of applications that read, write or stop without measure.

`python -m tests.ops.flooded_server PORT [LIMITS as JSON]`.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

real_time = time.time
wall = Counter({"ahead_s": 0})
time.time = lambda: real_time() + wall["ahead_s"]  # before anybody takes hold of it

from django import setup  # noqa: E402

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview_site.settings")
setup()

from apps.ops.daphne_connections import Limits  # noqa: E402
from apps.ops.daphne_server import BoundedServer  # noqa: E402
from apps.ops.metrics import LIVE_EVENTS, observe  # noqa: E402
from apps.ops.signals import server_listening, server_stopping  # noqa: E402
from tests.ops.flooded import STREAMED_BYTES  # noqa: E402

BLOCK = bytes(60_000)
FILES = 6
server_listening.receivers.clear()  # no engines: this process's memory is the measure
server_stopping.receivers.clear()
gone: Counter[str] = Counter()


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await receive()
        if scope["path"] == "/undecided":
            observe("request:undecided", 1)
            await asyncio.sleep(3600)
        await send({"type": "websocket.accept"})
        await SOCKETS[scope["path"]](receive, send)
    else:
        await REQUESTS[scope["path"]](receive, send)


async def stall(receive: Any, send: Any) -> None:
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        print("a stalled application was cancelled", flush=True)
        raise


async def echo(receive: Any, send: Any) -> None:
    """Slower than the sender, so that reading is paused and taken up again all the time."""
    while (message := await receive())["type"] == "websocket.receive":
        await asyncio.sleep(0.001)
        await send({"type": "websocket.send", "text": str(len(message["bytes"]))})
    gone["echo"] += 1


async def open_files(receive: Any, send: Any) -> None:
    """What a live session may need all of a sudden."""
    while (await receive())["type"] == "websocket.receive":
        with ExitStack() as files:
            for _ in range(FILES):
                files.enter_context(open(os.devnull))  # noqa: PTH123
            await send({"type": "websocket.send", "text": str(FILES)})


async def chatter(receive: Any, send: Any) -> None:
    while True:
        await send({"type": "websocket.send", "bytes": bytes(bytearray(BLOCK))})
        await asyncio.sleep(0.001)


async def answer(send: Any, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def tell_state(receive: Any, send: Any) -> None:
    events = [sample for metric in LIVE_EVENTS.collect() for sample in metric.samples]
    counts = {
        f"{sample.labels['event']}:{sample.labels['reason']}": sample.value
        for sample in events
        if sample.name.endswith("_total")
    }
    queues = [getattr(protocol, "application_queue", None) for protocol in server.connections]
    queued = max(queue.qsize() for queue in queues if queue is not None)
    await answer(send, json.dumps({"events": counts, "gone": gone, "queued": queued}).encode())


async def count_body(receive: Any, send: Any) -> None:
    length = 0
    while (message := await receive())["type"] == "http.request":
        length += len(message["body"])
        if not message["more_body"]:
            break
    await answer(send, str(length).encode())


async def stream(receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200})
    for number in range(STREAMED_BYTES // len(BLOCK)):
        block = number.to_bytes(4) + BLOCK[4:]  # each takes memory of its own
        await send({"type": "http.response.body", "body": block, "more_body": True})
    await send({"type": "http.response.body"})
    gone["stream"] += 1


async def take_long(receive: Any, send: Any) -> None:
    observe("request:long", 1)
    await answer_when_stopping.wait()
    await answer(send, b"late")


async def block(receive: Any, send: Any) -> None:
    time.sleep(3600)


async def jump(receive: Any, send: Any) -> None:
    wall["ahead_s"] += 172_800
    await answer(send, b"two days later")


async def jump_back(receive: Any, send: Any) -> None:
    wall["ahead_s"] -= 345_600
    await answer(send, b"two days ago")


async def never_stop(receive: Any, send: Any) -> None:
    server_stopping.connect(wait_for_ever)
    await answer(send, b"as you like")


async def deaf_when_stopping(receive: Any, send: Any) -> None:
    server_stopping.connect(hold_everything)
    await answer(send, b"as you like")


def wait_for_ever(**_: Any) -> Any:
    return asyncio.sleep(3600)


def hold_everything(**_: Any) -> None:
    ctypes.PyDLL(None).sleep(3600)  # with Python's lock held: no thread runs


def let_go(**_: Any) -> None:
    asyncio.get_running_loop().call_later(2, answer_when_stopping.set)


SOCKETS = {"/stalled": stall, "/echo": echo, "/chatty": chatter, "/files": open_files}
REQUESTS = {
    "/state": tell_state,
    "/count": count_body,
    "/stream": stream,
    "/long": take_long,
    "/block": block,
    "/jump": jump,
    "/jump-back": jump_back,
    "/never-stop": never_stop,
    "/deaf": deaf_when_stopping,
}
answer_when_stopping = asyncio.Event()
server_stopping.connect(let_go)
server = BoundedServer(
    application,
    Limits(**json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}),
    endpoints=[f"tcp:port={sys.argv[1]}:interface=127.0.0.1"],
)
server.run()
