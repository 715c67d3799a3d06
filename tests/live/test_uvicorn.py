"""The same application under uvicorn: a real process, a real socket, and the way it stops."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.live.close_codes import CloseCode
from tests.live.stack import ANSWER, Page, Person, Server

pytest.importorskip("uvicorn")


class Uvicorn(Server):
    def _command(self) -> list[str]:
        options = ["--port", str(self.port), "--no-access-log", "--ws-max-size", "131072"]
        return [sys.executable, "-m", "uvicorn", "interview_site.asgi:application", *options]


@pytest.fixture
def uvicorn(database: str, tmp_path: Path) -> Iterator[Uvicorn]:
    running = Uvicorn(tmp_path / "uvicorn", database)
    yield running
    running.kill()


def test_an_answer_is_judged_and_a_stop_tells_the_page_to_come_back(uvicorn: Uvicorn) -> None:
    uvicorn.start()
    person = Person(questions=2)
    with Page(uvicorn, person) as page:
        assert page.hello()["answer"] == 1
        page.until("answer.opened")
        page.say(type="text_answer", answer=1, text=ANSWER)
        page.until("feedback.done")
        page.until("answer.opened", turn=2)
        assert uvicorn.process is not None
        process, uvicorn.process = uvicorn.process, None
        process.send_signal(signal.SIGTERM)
        assert page.close_code() == CloseCode.RESTART
        process.wait(60)
    assert "answers are typed" in uvicorn.log.read_text()  # its engines were loaded at the start
    uvicorn.start()
    with Page(uvicorn, person) as page:
        assert page.hello()["answer"] == 2
