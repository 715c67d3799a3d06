"""The base of our commands: exit 0, 1 (something does not hold) or 2 (called wrongly), never a traceback."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, SystemCheckError
from django.db import DatabaseError

from apps.ops.database_fault import database_fault

CUT_OFF = 141  # what a shell gives a program that SIGPIPE ended


class PlainCommand(BaseCommand):
    """Errors are one line that says what to do. `--traceback` shows the rest to a developer."""

    requires_system_checks: list[str] = []  # a wrong template must not stop `models`
    _called_from_command_line: bool

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return self._flushed(super().execute(*args, **options))
        except KeyboardInterrupt:
            self._stop("Stopped.", 130, options)
        except BrokenPipeError:  # `| head` has read enough: that is no fault of anybody's
            self._leave_quietly(options)
        except SystemCheckError:
            raise
        except CommandError as exc:
            self._stop(str(exc), exc.returncode, options)
        except DatabaseError as exc:
            self._stop(database_fault(exc), 1, options)
        except Exception as exc:  # noqa: BLE001 - a command's top
            line = " ".join(str(exc).split()) or "no further word"
            self._stop(f"{type(exc).__name__}: {line} (--traceback shows where)", 1, options)
        return None

    def _flushed(self, output: str | None) -> str | None:
        self.stdout.flush()  # here, where a reader that has left is not taken for a fault
        return output

    def _leave_quietly(self, options: dict[str, Any]) -> None:
        if options.get("traceback") or not self._called_from_command_line:
            raise  # noqa: PLE0704 - only called while an exception is being handled
        # Python flushes stdout once more at its end; into nothing, or it would complain after all.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CUT_OFF)

    def _stop(self, line: str, code: int, options: dict[str, Any]) -> None:
        """Leave a command line with one line. A caller from Python gets the exception instead."""
        if options.get("traceback") or not self._called_from_command_line:
            raise  # noqa: PLE0704 - only called while an exception is being handled
        self.stderr.write(line)
        sys.exit(code)
