"""The import contracts hold, and each breaks when what it forbids is planted in a copy of the tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("apps", "inference", "interview_site")

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
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Whether the contracts hold in a copy of the tree: as it is (""), and with each import planted."""
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tree / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tree)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "ops" / "planted_imports.py")],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        input=json.dumps(PLANTED),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def test_the_tree_keeps_its_boundaries(kept: dict[str, bool]) -> None:
    assert kept[""], "see what lint-imports says"


@pytest.mark.parametrize("what", PLANTED)
def test_a_forbidden_import_breaks_a_contract(kept: dict[str, bool], what: str) -> None:
    assert not kept[what], f"{PLANTED[what]} was not noticed"
