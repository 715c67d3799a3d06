"""The import contracts hold, and each breaks when what it forbids is planted in a copy of the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("apps", "inference", "interview_site")
LINT_IMPORTS = (sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()")

PLANTED = {
    "inference knows the apps": ("inference/session.py", "import apps.ops.metrics"),
    "inference knows the site": ("inference/config.py", "import interview_site.env"),
    "inference uses Django": ("inference/audio.py", "import django.conf"),
    "inference uses Channels": ("inference/channel.py", "import channels.layers"),
    "inference uses Celery": ("inference/session.py", "import celery"),
    "inference uses Redis": ("inference/session.py", "import redis"),
    "an app knows the site": ("apps/live/apps.py", "import interview_site.env"),
    "a lower app knows a higher one": ("apps/interviews/apps.py", "import apps.assessment.models"),
    "ops knows an app": ("apps/ops/views.py", "import apps.accounts.models"),
    "siblings know each other": ("apps/privacy/apps.py", "import apps.recruiting.urls"),
    "the session names an adapter": ("inference/session.py", "import inference.adapters.fakes"),
    "an app names an adapter": ("apps/live/apps.py", "import inference.adapters.fakes"),
    "a lower stage knows a higher one": ("inference/endpointing.py", "import inference.session"),
    "an app names an engine's library": ("apps/live/apps.py", "import openai"),
    "a module without a place": ("inference/elsewhere.py", ""),
    "an app without a place": ("apps/elsewhere/__init__.py", ""),
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def broken(tree: Path) -> str:
    """What import-linter says when a contract is broken, else an empty string."""
    done = subprocess.run(
        LINT_IMPORTS,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Contracts: " in done.stdout, done.stdout + done.stderr
    return done.stdout if done.returncode else ""


def test_the_tree_keeps_its_boundaries(copied: Path) -> None:
    assert broken(copied) == ""


@pytest.mark.parametrize("what", PLANTED)
def test_a_forbidden_import_breaks_a_contract(copied: Path, what: str) -> None:
    name, line = PLANTED[what]
    planted = copied / name
    before = planted.read_text() if planted.exists() else None
    planted.parent.mkdir(exist_ok=True)
    planted.write_text((before or "") + f"\n{line}\n")
    try:
        assert broken(copied), f"{line} in {name} was not noticed"
    finally:
        if before is None:
            planted.unlink()
            if planted.name == "__init__.py":
                planted.parent.rmdir()
        else:
            planted.write_text(before)
