"""A Redis of one scenario, in a folder and on a port of its own."""

from __future__ import annotations

from pathlib import Path

import redis

from apps.ops.embedded import StartRefused, redis_answers, server_binary
from tests.faults.processes import Process, Unavailable
from tests.ops.site import free_port


class RedisServer(Process):
    """`aof` keeps what was written through a kill; without it a restart forgets everything."""

    def __init__(self, folder: Path, *, aof: bool = True) -> None:
        try:
            binary = server_binary()
        except StartRefused as refused:
            raise Unavailable(str(refused)) from refused
        folder.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        options += ["--appendonly", "yes" if aof else "no", "--loglevel", "warning"]
        super().__init__([str(binary), *options], {}, folder / "redis.log")

    def answers(self) -> bool:
        return redis_answers(self.url, 1.0)

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()
