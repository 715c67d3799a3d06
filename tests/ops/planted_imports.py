"""Run in a copy of the tree: {what: [file, line]} on stdin; on stdout whether all contracts held, as JSON.

One process for all of them, as starting Python is most of what a check costs.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from importlinter.application.use_cases import lint_imports
from importlinter.cli import lint_imports_command  # noqa: F401 - sets importlinter up


@contextlib.contextmanager
def planted(path: Path, line: str) -> Iterator[None]:
    before = path.read_text() if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text((before or "") + f"\n{line}\n")
    try:
        yield
    finally:
        if before is not None:
            path.write_text(before)
        else:
            path.unlink()
            if path.name == "__init__.py":
                path.parent.rmdir()


def kept() -> bool:
    """Whether all contracts hold; a contract that could not be checked is an error of this test."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        holds = lint_imports(cache_dir=None, no_logo=True)
    if "Contracts: " not in said.getvalue():
        raise SystemExit(said.getvalue())
    return holds


def main() -> None:
    found = {"": kept()}
    for what, (name, line) in json.load(sys.stdin).items():
        with planted(Path(name), line):
            found[what] = kept()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
