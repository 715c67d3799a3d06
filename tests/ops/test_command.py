"""Our commands end with a line and a code, never with a traceback, and stay callable from Python."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management.base import CommandError

from apps.ops.command import PlainCommand


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


def test_a_developer_gets_the_traceback() -> None:
    with pytest.raises(RuntimeError):
        Failing().run_from_argv(["manage.py", "failing", "--traceback"])


def test_a_caller_from_python_gets_the_exception() -> None:
    from django.core.management import call_command

    with pytest.raises(RuntimeError):
        call_command(Failing())
