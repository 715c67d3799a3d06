"""Whether this process can take an interview, and what is missing. Each check is bounded.

Unready (503): no database, rows behind the code, an unwritable or full disk: an answer could not be kept.
Degraded (200 all the same): nobody who hears (answers are typed), no LLM (the rules judge), no Redis or
worker (reports wait as rows).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from redis import RedisError

from apps.ops.embedded import redis_client
from apps.ops.engine_settings import speech_model
from apps.ops.heartbeat import KEY
from apps.ops.server_probe import asr_probe, llm_probe

REDIS_S = 0.25
SERVER_S = 0.2
FREE_BYTES = 500_000_000

Speech = Literal["servers", "local", "none"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """`missing` has one line per fault, which says what to do."""

    ready: bool
    speech: Speech
    missing: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        mode = "text" if self.speech == "none" else "voice"
        return {"ready": self.ready, "mode": mode, "speech": self.speech, "missing": list(self.missing)}


def readiness() -> Readiness:
    unready = [*_database(), *_disk()]
    speech, lacks = _speech()
    return Readiness(not unready, speech, (*unready, *lacks, *_llm(), *_background()))


def _database() -> Iterator[str]:
    try:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            yield "database: its tables are behind the code; run `python manage.py migrate`"
    except DatabaseError:
        yield "database: it does not answer; check DATABASE_URL"


def _disk() -> Iterator[str]:
    try:
        with tempfile.TemporaryFile(dir=settings.VAR_DIR):
            free_bytes = shutil.disk_usage(settings.VAR_DIR).free
    except OSError:
        yield "disk: VAR_DIR cannot be written; make it writable"
        return
    if free_bytes < FREE_BYTES:
        yield f"disk: {free_bytes // 1_000_000} MB free in VAR_DIR; {FREE_BYTES // 1_000_000} MB are needed"


def _speech() -> tuple[Speech, list[str]]:
    """Who hears, and what is missing for it. Behind servers that answer no model is needed on this disk."""
    servers = asr_probe.found(SERVER_S)
    if servers.url:
        return "servers", []
    local = speech_model()
    lacks = [f"speech: {why}" for why in (servers.why, local.why) if why]
    return "none" if local.folder is None else "local", lacks


def _llm() -> Iterator[str]:
    if why := llm_probe.found(SERVER_S).why:
        yield f"llm: {why}"


def _background() -> Iterator[str]:
    try:
        with redis_client(settings.CELERY_BROKER_URL, REDIS_S) as client:
            if not client.exists(KEY):
                yield "worker: none has reported; reports wait until one starts"
    except (RedisError, OSError):
        yield "redis: it does not answer; check REDIS_URL. Interviews go on, reports wait"
