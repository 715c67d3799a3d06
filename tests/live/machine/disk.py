"""The disk below a spool, and the death of the machine that writes it.

What was written and not synced is torn at any byte; a name whose folder was not synced may be gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR
from typing import Any, TypeVar

T = TypeVar("T")


class Killed(BaseException):
    """The process is no more. Whatever it still tries to do has no effect."""


@dataclass(frozen=True, slots=True)
class Left:
    """A file as it lay when the machine died: as much of it as is safe in any case."""

    name: Path
    content: bytes
    synced: int
    named: bool


class Disk:
    """Stands for `os` in the spool. `folder` is its root; the next life's is another one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dead = False
        self.fds: set[int] = set()
        self._armed: tuple[str, int] = ("", 0)
        self._left: list[Left] = []
        self._synced: dict[int, int] = {}  # by inode
        self._named: set[tuple[str, int]] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def arm(self, point: str, times: int) -> None:
        """Die when `point` is passed for the `times`th time."""
        self._armed = (point, times)

    def passes(self, point: str) -> None:
        """Raises Killed where death waits, and everywhere once it came."""
        armed, times = self._armed
        if not self.dead and armed == point:
            self._armed = (armed, times - 1)
            if times <= 1:
                self.die()
        if self.dead:
            raise Killed(point)

    def around(self, name: str, work: Callable[[], T]) -> T:
        self.passes(f"before {name}")
        result = work()
        self.passes(f"after {name}")
        return result

    def die(self) -> None:
        if not self.dead:
            self.dead = True
            self._left = [self._file(path) for path in sorted(self.folder.rglob("*")) if path.is_file()]

    def next_life(self, folder: Path, torn: int) -> Disk:
        """The disk after a restart. `torn` 0: all that was written is there, as after kill -9."""
        for fd in self.fds:
            os.close(fd)
        disk = Disk(folder)
        for left in self._left:
            tail = len(left.content) - left.synced
            if torn and not left.named and torn % 3 == 0:
                continue
            path = folder / left.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(left.content[: len(left.content) - torn % (tail + 1)])
            disk._note(path.stat(), path.name)
        return disk

    def synced(self, path: Path) -> bytes:
        """As much of it as no death can take."""
        content = path.read_bytes()
        return content[: self._synced.get(path.stat().st_ino, 0)]

    def open(self, path: Any, flags: int, mode: int = 0o777) -> int:
        self._alive()
        fd = os.open(path, flags, mode)
        self.fds.add(fd)
        return fd

    def close(self, fd: int) -> None:
        self._alive()
        self.fds.discard(fd)
        os.close(fd)

    def pwrite(self, fd: int, content: bytes, offset: int) -> int:
        self.passes("before write")
        written = os.pwrite(fd, content, offset)
        self.passes("after write")
        return written

    def ftruncate(self, fd: int, length: int) -> None:
        self._alive()
        os.ftruncate(fd, length)
        inode = os.fstat(fd).st_ino
        self._synced[inode] = min(length, self._synced.get(inode, 0))

    def fdatasync(self, fd: int) -> None:
        self._alive()
        self._sync(fd)
        self.passes("after sync")

    def fsync(self, fd: int) -> None:
        self._alive()
        self._sync(fd)

    def _alive(self) -> None:
        if self.dead:
            raise Killed

    def _sync(self, fd: int) -> None:
        status = os.fstat(fd)
        if not S_ISDIR(status.st_mode):
            self._synced[status.st_ino] = status.st_size
            return
        for entry in os.scandir(fd):
            self._named.add((entry.name, entry.inode()))

    def _note(self, status: os.stat_result, name: str) -> None:
        self._synced[status.st_ino] = status.st_size
        self._named.add((name, status.st_ino))

    def _file(self, path: Path) -> Left:
        inode = path.stat().st_ino
        synced = self._synced.get(inode, 0)
        content = path.read_bytes()
        return Left(
            path.relative_to(self.folder),
            content,
            min(synced, len(content)),
            (path.name, inode) in self._named,
        )
