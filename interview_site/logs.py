"""Log lines that hold nothing a person said, typed or was told.

An exception's message quotes what was being worked on: a database its failing row, pydantic its input.
So tracebacks name exceptions and lines only, and so do other people's loggers.
"""

from __future__ import annotations

import logging
import traceback
from types import TracebackType
from typing import Any

from django.db.utils import OperationalError

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
OURS = {"apps", "inference", "interview_site"}  # these word their own errors
TASK_CONTENT = {"args", "kwargs", "exc", "return_value", "traceback"}


class LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        if record.name.split(".")[0] not in OURS:
            record = logging.makeLogRecord(record.__dict__)  # other handlers keep theirs
            record.args = _without_content(record.args)
        if record.name == "django.request" and isinstance(
            (record.exc_info or (None, None))[1], OperationalError
        ):
            return super().format(_database_away(record))
        if record.name == "asyncio":  # its further lines are the reprs of tasks and their exceptions
            record.msg, record.args = record.getMessage().partition("\n")[0], ()
        return super().format(record)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - logging's name
        lines = []
        for error in _chain(ei[1]):
            lines += traceback.format_tb(error.__traceback__)
            lines.append(f"{_kind(error)}\n")
        return "".join(lines).rstrip()


def _database_away(record: logging.LogRecord) -> logging.LogRecord:
    """The visitor was told to come back soon: an outage, not a fault of ours that a trace would explain."""
    told = logging.makeLogRecord(record.__dict__)
    told.msg, told.args = "Service Unavailable: the database does not answer", ()
    told.exc_info = told.exc_text = None
    return told


def _without_content(args: Any) -> Any:
    if isinstance(args, dict):
        return {key: "…" if key in TASK_CONTENT else _kind(value) for key, value in args.items()}
    return tuple(_kind(value) for value in args) if isinstance(args, tuple) else args


def _kind(value: Any) -> Any:
    """An exception's type instead of its message; anything else as it is."""
    is_error = isinstance(value, BaseException)
    return f"{type(value).__module__}.{type(value).__qualname__}" if is_error else value


def _chain(error: BaseException | None) -> list[BaseException]:
    """The error with what it came from, oldest first; a group with what it is made of."""
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        if isinstance(error, BaseExceptionGroup):
            return [*(one for part in error.exceptions for one in _chain(part)), *chain[::-1]]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain[::-1]
