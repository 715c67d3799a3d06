"""Which models there are, whether they are on this disk, and how to get them: models.toml made true.

Standard library only; knows neither settings nor engines. A file is in its place
whole and verified, or not at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from inference.model_sources import Source, SourceFailed, build_source

try:
    import fcntl
except ImportError:  # no file locks on this system: two fetchers would only waste each other's work
    fcntl = None  # type: ignore[assignment]

REGISTRY = Path(__file__).with_name("models.toml")
SPARE_BYTES = 64 << 20
LOCK_WAIT_S = 900.0
REPORT_EVERY_S = 0.5


BIG_BYTES = 1_000_000  # only files from here on are worth a line of progress


class ModelUnavailable(Exception):  # noqa: N818 - named for what is wrong, like the ports' errors
    """One line that says what to do."""


class ModelOutOfReach(ModelUnavailable):
    """Nothing is set wrongly: no source gives the model now, or there is no room. One can do without."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Model:
    """`inside` names a folder of an installed package where the files lie already: never fetched.

    `use` is what it is for: only one for speech can be the recogniser's.
    """

    name: str
    about: str
    licence: str
    files: tuple[ModelFile, ...]
    sources: tuple[dict[str, Any], ...]
    inside: str = ""
    use: str = "speech"

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one file is; `note` says what happens when no bytes tell it.

    `detour`: a source did not have it and the next is asked, which matters only if none has it.
    """

    model: str
    file: str = ""
    done_bytes: int = 0
    total_bytes: int = 0
    note: str = ""
    detour: bool = False

    def __str__(self) -> str:
        if self.note:
            return f"{self.model}: {self.note}"
        share = 100 * self.done_bytes // max(1, self.total_bytes)
        return f"{self.model}: {self.file} {share} % of {self.total_bytes / 1e6:.0f} MB"


Report = Callable[[Progress], None]


@cache
def registry(path: Path = REGISTRY) -> dict[str, Model]:
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _model(name, entry) for name, entry in entries.items()}


def _model(name: str, entry: dict[str, Any]) -> Model:
    return Model(
        name=name,
        about=entry["about"],
        licence=entry["licence"],
        files=tuple(ModelFile(**file) for file in entry["files"]),
        sources=tuple(entry.get("sources", ())),
        inside=entry.get("inside", ""),
        use=entry.get("use", "speech"),
    )


def speech_models(registry_file: Path = REGISTRY) -> list[str]:
    """The names that one can choose among. A model inside a package serves another purpose."""
    models = registry(registry_file).values()
    return [model.name for model in models if model.use == "speech" and not model.inside]


def model_named(name: str, registry_file: Path = REGISTRY) -> Model:
    try:
        return registry(registry_file)[name]
    except KeyError:
        raise _no_such_model(name, registry_file) from None


def _no_such_model(name: str, registry_file: Path) -> ModelUnavailable:
    names = ", ".join(speech_models(registry_file))
    return ModelUnavailable(f"No speech model {name!r}. Use one of {names}, or a folder's path.")


def installed_speech(name: str, models_dir: Path, registry_file: Path = REGISTRY) -> Path | None:
    """`installed` for what is to hear speech: no other model will do."""
    if os.sep not in name and name not in speech_models(registry_file):
        raise _no_such_model(name, registry_file)
    return installed(name, models_dir, registry_file)


def installed(name: str, models_dir: Path, registry_file: Path = REGISTRY) -> Path | None:
    """The model's folder when its files are there at their right length. `name` may be a path.

    Raises ModelUnavailable for an unknown name, or a path that holds no model.
    """
    if os.sep in name:
        return _given_folder(Path(name).expanduser())
    model = model_named(name, registry_file)
    folder = _folder(model, models_dir)
    return folder if folder and not _missing(model, folder) else None


def verify(name: str, models_dir: Path, registry_file: Path = REGISTRY) -> list[str]:
    """What is wrong with the model's files, by their SHA-256; empty when all is well."""
    model = model_named(name, registry_file)
    folder = _folder(model, models_dir)
    if folder is None:
        return [f"{model.inside} is not installed"]
    return [problem for file in model.files if (problem := _problem(folder / file.name, file))]


def fetch(
    name: str,
    models_dir: Path,
    report: Report = lambda _progress: None,
    registry_file: Path = REGISTRY,
) -> Path:
    """Have the model on this disk, whole and verified; takes up where an interrupted fetch stopped.

    Raises ModelUnavailable with one line when no source gives it, the disk is full or read-only.
    """
    found = installed(name, models_dir, registry_file)
    if found is not None and (os.sep in name or not verify(name, models_dir, registry_file)):
        return found
    model = model_named(name, registry_file)
    if model.inside:
        raise ModelUnavailable(f"Model {name!r} comes with a package: run `make install` again.")
    folder = models_dir / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_fetcher(models_dir / f".{name}.lock", model, report):
            _fetch_files(model, folder, report)
    except OSError as exc:
        what = exc.strerror or type(exc).__name__
        raise ModelUnavailable(f"Cannot write to {folder} ({what}): unlock it or set MODELS_DIR.") from exc
    return folder


def _given_folder(folder: Path) -> Path:
    for needed in ("model.bin", "config.json", "tokenizer.json"):
        if not (folder / needed).is_file():
            raise ModelUnavailable(
                f"{folder} holds no speech model ({needed} is missing). Name another folder."
            )
    return folder


def _folder(model: Model, models_dir: Path) -> Path | None:
    if not model.inside:
        return models_dir / model.name
    package, _, rest = model.inside.partition("/")
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0], rest) if places else None


def _missing(model: Model, folder: Path) -> list[ModelFile]:
    return [file for file in model.files if _size(folder / file.name) != file.size_bytes]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def _problem(path: Path, file: ModelFile) -> str:
    if not path.is_file():
        return f"{file.name} is missing"
    if _sha256(path) != file.sha256:
        return f"{file.name} is damaged"
    return ""


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _only_fetcher(lock: Path, model: Model, report: Report) -> Iterator[None]:
    """Two processes never write the same file; the second waits and then finds the work done."""
    with lock.open("a") as held:
        deadline_s, told = time.monotonic() + LOCK_WAIT_S, False
        while not _locked(held.fileno()):
            if time.monotonic() > deadline_s:
                raise ModelOutOfReach(f"Another process fetches {model.name!r} for too long: end it.")
            if not told:
                report(Progress(model.name, note="another process is fetching it; waiting"))
            told = True
            time.sleep(REPORT_EVERY_S)
        yield


def _locked(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _fetch_files(model: Model, folder: Path, report: Report) -> None:
    wanted = [file for file in model.files if _problem(folder / file.name, file)]
    need_bytes = sum(file.size_bytes for file in wanted) + SPARE_BYTES
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < need_bytes:
        short = (need_bytes - free_bytes) / 1e6
        raise ModelOutOfReach(f"The disk of {folder} lacks {short:.0f} MB: make room or set MODELS_DIR.")

    def tell(note: str) -> None:
        report(Progress(model.name, note=note))

    tell(f"getting {sum(file.size_bytes for file in wanted) / 1e6:.0f} MB")
    sources = [build_source(entry, folder, tell) for entry in model.sources]
    try:
        for file in wanted:
            _fetch_file(model, file, folder, sources, report)
    finally:
        for source in sources:
            source.close()


def _fetch_file(model: Model, file: ModelFile, folder: Path, sources: list[Source], report: Report) -> None:
    """From the first source that gives these very bytes. One that failed is not asked for the next file."""
    part = folder / f".{file.name}.part"
    for source in [source for source in sources if not source.why]:
        try:
            _fill(model, file, part, source, report)
        except SourceFailed as exc:
            source.why = str(exc)
            report(Progress(model.name, note=f"{source.name}: {exc}", detour=True))
            continue
        _settle(part, folder / file.name)
        return
    reasons = "; ".join(f"{source.name}: {source.why}" for source in sources)
    raise ModelOutOfReach(
        f"Cannot get model {model.name!r} ({reasons}). Put its files into {folder}, or try again online."
    )


def _fill(model: Model, file: ModelFile, part: Path, source: Source, report: Report) -> None:
    """Make `part` the file. A part that an earlier try left is taken up once, then begun anew."""
    for _ in range(2):
        resumed = _size(part) == file.size_bytes or _write(model, file, part, source, report)
        if _size(part) == file.size_bytes and _sha256(part) == file.sha256:
            return
        part.unlink()
        if not resumed:
            break
    raise SourceFailed(f"{file.name} is not the file we know (SHA-256 differs)")


def _write(model: Model, file: ModelFile, part: Path, source: Source, report: Report) -> bool:
    """Append the missing bytes. Returns whether some were there already."""
    have = max(0, _size(part))
    if have > file.size_bytes:
        part.unlink()
        have = 0
    resumed, told_s = have > 0, time.monotonic()
    with part.open("ab") as out:
        for offset, block in source.read(file.name, have):
            if offset != out.tell():  # a source that cannot continue begins again
                out.truncate(offset)
                resumed = False
            out.write(block)
            if out.tell() > file.size_bytes:
                raise SourceFailed(f"{file.name} is longer than it should be")
            if out.tell() < file.size_bytes and time.monotonic() - told_s >= REPORT_EVERY_S:
                told_s = time.monotonic()
                _tell_of_big(model, file, out.tell(), report)
        out.flush()
        os.fsync(out.fileno())
    _tell_of_big(model, file, _size(part), report)
    return resumed


def _tell_of_big(model: Model, file: ModelFile, done_bytes: int, report: Report) -> None:
    if file.size_bytes >= BIG_BYTES:
        report(Progress(model.name, file.name, done_bytes, file.size_bytes))


def _settle(part: Path, final: Path) -> None:
    part.replace(final)
    directory = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
