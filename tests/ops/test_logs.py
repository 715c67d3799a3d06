"""Log lines hold nothing a person said, whoever logs and whatever fails."""

from __future__ import annotations

import logging

import pytest
from django.db import OperationalError

from interview_site.logs import LineFormatter

CANARY = "the turquoise flamingo settled in Dortmund"


def line(logger: str, message: str, *args: object, error: BaseException | None = None) -> str:
    info = (type(error), error, error.__traceback__) if error else None
    record = logging.getLogger(logger).makeRecord(logger, logging.ERROR, __file__, 1, message, args, info)
    return LineFormatter("%(name)s %(message)s").format(record)


def failure() -> ValueError:
    """As in real life: an error that came from another, both quoting what was being worked on."""
    rows: dict[str, int] = {}
    with pytest.raises(ValueError) as caught:  # noqa: PT011, PT012 - it only makes one
        try:
            rows[CANARY] += 1
        except KeyError as exc:
            raise ValueError(f"row: {CANARY}") from exc
    return caught.value


@pytest.mark.parametrize("logger", ["apps.live", "django.request", "celery.app.trace"])
def test_a_traceback_names_its_errors_and_lines_but_not_their_words(logger: str) -> None:
    shown = line(logger, "Failed", error=failure())
    assert CANARY not in shown
    assert "builtins.KeyError" in shown
    assert "builtins.ValueError" in shown
    assert "in failure" in shown


def test_a_group_of_errors_names_each_of_them() -> None:
    shown = line("apps.live", "Failed", error=ExceptionGroup(CANARY, [failure(), OSError(CANARY)]))
    assert CANARY not in shown
    for name in ("builtins.KeyError", "builtins.ValueError", "builtins.OSError", "builtins.ExceptionGroup"):
        assert name in shown


def test_a_database_that_is_away_is_one_line() -> None:
    shown = line("django.request", "Internal Server Error: %s", "/", error=OperationalError(CANARY))
    assert shown == "django.request Service Unavailable: the database does not answer"


def test_a_librarys_message_with_an_error_in_it_names_its_type_only() -> None:
    shown = line("daphne.server", "Exception inside application: %s", failure())
    assert shown == "daphne.server Exception inside application: builtins.ValueError"


def test_a_failed_task_is_named_without_what_it_worked_on() -> None:
    context = {"name": "run_job", "id": "7", "exc": repr(failure()), "args": (CANARY,)}
    shown = line("celery.app.trace", "Task %(name)s[%(id)s] raised: %(exc)s %(args)s", context)
    assert CANARY not in shown
    assert "run_job[7]" in shown


def test_a_forgotten_tasks_repr_is_left_out() -> None:
    shown = line("asyncio", f"Task exception was never retrieved\nfuture: <Task exception={failure()!r}>")
    assert shown == "asyncio Task exception was never retrieved"


def test_our_own_words_stay() -> None:
    assert line("apps.live", "speech is off: %s", RuntimeError("no model")).endswith(
        "speech is off: no model"
    )


@pytest.mark.parametrize(
    "name", ["openai._base_client", "httpx2", "django.db.backends", "faster_whisper", "autobahn"]
)
def test_libraries_that_log_content_are_held_above_debug(name: str) -> None:
    assert not logging.getLogger(name).isEnabledFor(logging.DEBUG)
