"""An event loop on which time is moved by hand and threads' work is done on the spot."""

from __future__ import annotations

import asyncio
import selectors
from asyncio.events import _get_running_loop, _set_running_loop
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class _NoFiles(selectors.BaseSelector):
    """Instead of waiting, time is moved on; at the end of what was granted the loop stops."""

    def __init__(self) -> None:
        self.now = self.until = 1_000.0
        self.stop: Callable[[], None] = lambda: None
        self._files: dict[Any, selectors.SelectorKey] = {}

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        self._files[fileobj] = selectors.SelectorKey(fileobj, 0, events, data)
        return self._files[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._files.pop(fileobj)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._files[fileobj]

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._files

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and self.now + timeout <= self.until:
            self.now += timeout
        else:
            self.now = self.until
            self.stop()
        return []


class Clockwork(asyncio.SelectorEventLoop):
    """`around` is called with the name of what a thread would do, and does it."""

    def __init__(self, around: Callable[[str, Callable[[], Any]], Any]) -> None:
        self._files = _NoFiles()
        super().__init__(self._files)
        self._files.stop = self.stop
        self._around = around
        self.failures: list[BaseException] = []
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return self._files.now

    def advance(self, seconds: float = 0.0) -> None:
        """Do all that is to be done until then."""
        self._files.until = self._files.now + seconds
        self.run_forever()

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        future: asyncio.Future[T] = self.create_future()
        running = _get_running_loop()
        _set_running_loop(None)  # a thread has none
        try:
            future.set_result(self._around(_name(func, args), partial(func, *args)))
        except BaseException as exc:  # noqa: BLE001 - whoever awaits it gets it
            future.set_exception(exc)
        finally:
            _set_running_loop(running)
        return future

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        self.failures.append(failure or RuntimeError(str(context.get("message"))))


def _name(func: Any, args: tuple[Any, ...]) -> str:
    """What is really called, below `partial`, `Context.run` and the like."""
    while isinstance(func, partial):
        func, args = func.func, (*func.args, *args)
    if func.__name__ in {"run", "_connected"} and args:
        return _name(args[0], args[1:])
    return str(func.__name__)
