"""`manage.py models` on a command line: results on stdout, progress and errors on stderr, exit 0, 1 or 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.ops.site import manage


@pytest.fixture
def copied(model_dir: Path, tmp_path: Path) -> Path:
    """The base model in a MODELS_DIR of its own, to be damaged."""
    models = tmp_path / "models"
    models.mkdir()
    shutil.copytree(model_dir, models / "base")
    return models


def test_list_names_each_model_and_whether_it_is_here(tmp_path: Path) -> None:
    listed = manage(tmp_path / "var", "models", "list", "--json", MODELS_DIR=str(tmp_path / "none"))
    models = {model["name"]: model for model in map(json.loads, listed.stdout.splitlines())}
    assert models["base"]["installed"] is False
    assert models["silero-vad"]["installed"] is True


def test_fetch_of_a_model_that_is_here_says_where(model_dir: Path, tmp_path: Path) -> None:
    fetched = manage(tmp_path / "var", "models", "fetch", "base", "--json", MODELS_DIR=str(model_dir.parent))
    assert fetched.returncode == 0
    assert json.loads(fetched.stdout) == {"name": "base", "folder": str(model_dir.resolve())}


def test_verify_finds_one_changed_byte(copied: Path, tmp_path: Path) -> None:
    whole = manage(tmp_path / "var", "models", "verify", "base", MODELS_DIR=str(copied))
    assert (whole.returncode, whole.stdout) == (0, "base: whole\n")
    with (copied / "base" / "model.bin").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\xff\x00\xff")
    broken = manage(tmp_path / "var", "models", "verify", "base", MODELS_DIR=str(copied))
    assert broken.returncode == 1
    assert broken.stdout == "base: model.bin is damaged\n"
    assert "models fetch base" in broken.stderr


def test_an_unknown_model_is_one_line(tmp_path: Path) -> None:
    refused = manage(tmp_path / "var", "models", "fetch", "nonesuch")
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "base" in refused.stderr  # it names those there are


def test_no_action_exits_2(tmp_path: Path) -> None:
    assert manage(tmp_path / "var", "models").returncode == 2
