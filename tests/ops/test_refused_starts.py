"""A start that cannot be: one line that says what to do, exit 1, nothing left running."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ops.site import ROOT, environment, free_port, manage, one_line

HANG_S = 30  # what only a wait without a deadline would cost


def test_a_redis_that_does_not_answer_is_one_line_within_seconds(tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    refused = manage(tmp_path / "var", "runserver", "--noreload", str(free_port()), REDIS_URL=url)
    assert refused.returncode == 1
    assert "REDIS_URL" in one_line(refused.stderr)


def test_a_redis_that_hangs_is_given_up(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}"
        refused = manage(tmp_path / "var", "runserver", "--noreload", str(free_port()), REDIS_URL=url)
    assert refused.returncode == 1
    assert "REDIS_URL" in one_line(refused.stderr)
    assert time.monotonic() - began < HANG_S


def test_a_var_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused = manage(tmp_path / "file" / "var", "runserver", SECRET_KEY="k" * 50)
    assert refused.returncode == 1
    assert "VAR_DIR" in one_line(refused.stderr)


def test_a_wrong_setting_is_one_line_that_names_it(tmp_path: Path) -> None:
    refused = manage(tmp_path / "var", "runserver", LLM_URLS="127.0.0.1:8100")
    assert refused.returncode == 1
    assert one_line(refused.stderr).startswith("LLM_URLS=")


def test_production_needs_its_origins_named(tmp_path: Path) -> None:
    refused = manage(tmp_path / "var", "runserver", DEBUG="0", SECRET_KEY="k" * 50)
    assert refused.returncode == 1
    assert "ALLOWED_ORIGINS" in one_line(refused.stderr)


def test_a_wrong_argument_exits_2(tmp_path: Path) -> None:
    assert manage(tmp_path / "var", "runserver", "--no-such-option").returncode == 2


@pytest.mark.parametrize("name", ["nonsense", "silero-vad"])
def test_a_speech_model_that_does_not_exist_is_one_line_with_those_that_do(tmp_path: Path, name: str) -> None:
    for command in (("runserver", "--noreload", str(free_port())), ("models", "fetch", "--optional")):
        refused = manage(tmp_path / "var", *command, ASR_MODEL=name)
        assert refused.returncode == 1
        line = one_line(refused.stderr)
        assert line.startswith(f"ASR_MODEL='{name}'")
        assert "tiny, base, small" in line


def test_a_path_that_is_no_model_folder_is_one_line(tmp_path: Path) -> None:
    refused = manage(tmp_path / "var", "runserver", str(free_port()), ASR_MODEL=str(tmp_path))
    assert refused.returncode == 1
    assert f"{tmp_path} holds no speech model" in one_line(refused.stderr)


@pytest.mark.parametrize("command", ["runserver", "migrate", "demo"])
def test_a_damaged_database_is_named_with_what_to_do(tmp_path: Path, command: str) -> None:
    damaged = tmp_path / "viva.sqlite3"
    damaged.write_bytes(b"no database" * 999)
    port = [str(free_port())] if command == "runserver" else []
    refused = manage(tmp_path / "var", command, *port, DATABASE_URL=f"sqlite:///{damaged}")
    assert refused.returncode == 1
    line = one_line(refused.stderr)
    assert line.startswith(f"{damaged} is damaged")
    assert "move it away" in line


def test_a_port_beyond_the_last_is_called_wrongly(tmp_path: Path) -> None:
    refused = manage(tmp_path / "var", "runserver", "99999")
    assert (refused.returncode, one_line(refused.stderr)) == (2, "Port 99999: use one from 1 to 65535.")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({}, "VAR_DIR"),
        ({"SECRET_KEY": "k" * 50}, "Cannot write to"),
        ({"LLM_URLS": "127.0.0.1:8100"}, "LLM_URLS="),
        ({"ASR_MODEL": "nonsense"}, "ASR_MODEL="),
    ],
)
def test_make_stops_at_what_is_set_wrongly_and_blames_no_model(
    tmp_path: Path, setting: dict[str, str], said: str
) -> None:
    """Where settings cannot be kept, or are wrong, `make run` gets to neither a model nor a database."""
    (tmp_path / "file").touch()
    var = tmp_path / ("file/var" if "VAR_DIR" in said or "write" in said else "var")
    asked = ["make", "--old-file", ".venv/.runtime", f"PY={sys.executable}", "install"]
    stopped = subprocess.run(
        asked,
        cwd=ROOT,
        env=environment(var, MODELS_DIR=str(var / "models"), **setting),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert stopped.returncode == 2
    assert said in one_line(
        "".join(line for line in stopped.stderr.splitlines(True) if "make: ***" not in line)
    )
    assert "Database" not in stopped.stdout
