"""Databases that a test shares with the processes it starts: a file on SQLite, one of many on PostgreSQL.

Which of the two follows from DATABASE_URL as the run was started with.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from django.apps import apps
from django.db import connections

ROOT = Path(__file__).resolve().parent.parent
MIGRATED_WITHIN_S = 180
LOCKED_WITHIN_S = 60
_numbers = itertools.count(1)


def on_postgres() -> bool:
    return bool(connections["default"].vendor == "postgresql")


@contextmanager
def site_database(folder: Path) -> Iterator[str]:
    """The default connection goes to a fresh, migrated database that other processes open by this URL."""
    name = _fresh(folder / "viva.sqlite3")
    try:
        with _default_goes_to(name):
            yield _url(name)
    finally:
        if on_postgres():
            _administer(f"DROP DATABASE {name} WITH (FORCE)")


def site_environment(var: Path) -> dict[str, str]:
    """What a site of its own in `var` is started with: it makes its file itself, but no database."""
    return {"DATABASE_URL": _url(_lasting(var))} if on_postgres() else {}


@contextmanager
def no_writes(url: str) -> Iterator[None]:
    """Nobody else writes a row meanwhile; everybody still reads."""
    if not on_postgres():
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as lock:
            lock.execute("BEGIN IMMEDIATE")
            yield
            lock.execute("ROLLBACK")
        return
    with psycopg.connect(url) as held:
        _lock_tables(held)
        yield
        held.rollback()


def _lock_tables(held: psycopg.Connection) -> None:
    """Whoever writes meanwhile may meet us in a deadlock; one of the two then gives way, and we insist."""
    tables = ", ".join(sorted({f'"{model._meta.db_table}"' for model in apps.get_models()}))
    deadline = time.monotonic() + LOCKED_WITHIN_S
    while True:
        try:
            return held.execute(f"LOCK TABLE {tables} IN EXCLUSIVE MODE".encode()).close()
        except psycopg.errors.DeadlockDetected:
            held.rollback()
            assert time.monotonic() < deadline, "the tables are never free"


@cache
def _lasting(var: Path) -> str:
    """Stays until the run ends: the same site may be started again."""
    name = _fresh(var)
    atexit.register(_administer, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    return name


def _fresh(file: Path) -> str:
    template = _template()
    if not on_postgres():
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(template, file)
        return str(file)
    name = f"{template}_{next(_numbers)}"
    _administer(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name} TEMPLATE {template}")
    return name


@cache
def _template() -> str:
    """Migrated once in a run; every other database is a copy."""
    if on_postgres():
        name = f"viva_{os.getpid()}"
        _administer(f"CREATE DATABASE {name}")
        atexit.register(_administer, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    else:
        folder = tempfile.mkdtemp(prefix="viva-rows-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        name = f"{folder}/viva.sqlite3"
    environment = {**os.environ, "DATABASE_URL": _url(name)}
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(migrate, cwd=ROOT, env=environment, check=True, timeout=MIGRATED_WITHIN_S)
    return name


@contextmanager
def _default_goes_to(name: str) -> Iterator[None]:
    ours = connections.create_connection("default")
    ours.settings_dict = {**ours.settings_dict, "NAME": name}
    before = connections["default"]
    connections["default"] = ours
    try:
        yield
    finally:
        ours.close()
        connections["default"] = before


def _url(name: str) -> str:
    if not on_postgres():
        return f"sqlite:///{name}"
    return "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}/".format(**_quoted()) + name


def _quoted() -> dict[str, Any]:
    known = connections["default"].settings_dict
    return {key: quote(str(known[key] or ""), safe="") for key in ("USER", "PASSWORD", "HOST", "PORT")}


def _administer(*statements: str) -> None:
    with psycopg.connect(_url("postgres"), autocommit=True, connect_timeout=30) as connection:
        for statement in statements:
            connection.execute(statement.encode())
