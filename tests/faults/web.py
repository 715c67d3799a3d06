"""The lab's web process: the site's own server command with scripted engines and, if asked, fast clocks.

`python -m tests.faults.web PORT`. Reads LAB_HEARD (the line that is "heard"; empty: no speech model),
LAB_HEARD_AFTER_S and LAB_CLOCKS, beside the site's own settings.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command, get_commands
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.faults.clocks import set_clocks

HUNG = "disk-hangs"  # a file in VAR_DIR


def main(port: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "interview_site.settings"
    os.environ["RUN_MAIN"] = "true"  # the web process alone, as `runserver` starts it
    django.setup()
    _forget_statements()
    set_clocks()
    _script_engines(os.environ.get("LAB_HEARD", ""), float(os.environ.get("LAB_HEARD_AFTER_S", "0")))
    _let_disk_hang(Path(os.environ["VAR_DIR"]) / HUNG)
    if "serve" in get_commands():
        call_command("serve", f"--port={port}")
    else:
        call_command("runserver", f"127.0.0.1:{port}")


def _forget_statements() -> None:
    """DEBUG lets a plain address in; that Django then keeps every statement is no part of the site."""
    quiet = property(lambda database: database.force_debug_cursor)
    setattr(BaseDatabaseWrapper, "queries_logged", quiet)  # noqa: B010 - a property in the place of a property


def _let_disk_hang(while_there: Path) -> None:
    """Every fdatasync waits as long as this file is there."""
    sync = os.fdatasync

    def syncing(fd: Any) -> None:
        while while_there.exists():
            time.sleep(0.05)
        sync(fd)

    os.fdatasync = syncing


def _script_engines(heard: str, after_s: float) -> None:
    from apps.live.engines import process_engines
    from inference.adapters.fakes import Loudness, ScriptedRecognizer
    from inference.hearing import Ears
    from inference.ports import Engines

    def scripted() -> Engines:
        if not heard:
            return Engines(None, None, None, why_text="no speech model in this scenario")
        return Engines(Ears(Loudness()), ScriptedRecognizer(heard, delay_s=after_s), None)

    process_engines._build = scripted


if __name__ == "__main__":
    main(sys.argv[1])
