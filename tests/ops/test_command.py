"""Our commands end with a line and a code, never with a traceback, and stay callable from Python."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from django.core.management.base import CommandError

from apps.ops.command import PlainCommand
from tests.ops.site import ROOT


class Failing(PlainCommand):
    error: BaseException = RuntimeError("the\nreason")

    def handle(self, *args: Any, **options: Any) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (CommandError("Do this."), 1, "Do this."),
        (CommandError("Called wrongly.", returncode=2), 2, "Called wrongly."),
        (RuntimeError("the\nreason"), 1, "RuntimeError: the reason (--traceback shows where)"),
        (KeyboardInterrupt(), 130, "Stopped."),
    ],
)
def test_an_error_is_one_line_and_a_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Failing()
    command.error = error
    with pytest.raises(SystemExit) as left:
        command.run_from_argv(["manage.py", "failing"])
    assert left.value.code == code
    assert capsys.readouterr().err.strip() == line


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    """As `models list | head -1` does; with Python's own buffering, which writes at the end."""
    reading, writing = os.pipe()
    os.close(reading)
    listing = [sys.executable, "manage.py", "models", "list"]
    with os.fdopen(writing, "wb") as gone:
        ended = subprocess.run(
            listing, cwd=ROOT, stdout=gone, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_developer_gets_the_traceback() -> None:
    with pytest.raises(RuntimeError):
        Failing().run_from_argv(["manage.py", "failing", "--traceback"])


def test_a_caller_from_python_gets_the_exception() -> None:
    from django.core.management import call_command

    with pytest.raises(RuntimeError):
        call_command(Failing())
