"""Where a load test plays: a lab of its own with migrated rows, gone afterwards. Needs no Django yet."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.environment import NOT_OURS

if TYPE_CHECKING:
    from tests.faults.lab import Lab

ROOT = Path(__file__).resolve().parents[2]


def prepare_django() -> None:
    """Nobody's own settings or rows: the stage has its own."""
    for name in NOT_OURS:
        os.environ.pop(name, None)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "interview_site.settings",
        "SECRET_KEY": "the load tests sign their sessions with this and nothing else",
        "VAR_DIR": tempfile.gettempdir() + "/viva-load-unused",
    }
    import django

    django.setup()


@asynccontextmanager
async def stage(patience: float) -> AsyncIterator[Lab]:
    from tests.faults.lab import Lab

    with tempfile.TemporaryDirectory(prefix="viva-load-") as name:
        folder = Path(name)
        lab = Lab(folder, _migrated(folder), patience)
        async with lab.closing:
            yield lab


def _migrated(folder: Path) -> Path:
    file = folder / "migrated.sqlite3"
    environment = {**os.environ, "DATABASE_URL": f"sqlite:///{file}", "VAR_DIR": str(folder / "var")}
    argv = [sys.executable, "manage.py", "migrate", "--verbosity=0"]
    subprocess.run(argv, cwd=ROOT, env=environment, check=True, timeout=600)
    return file
