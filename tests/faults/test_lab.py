"""The lab itself: what it must find is found, what it does to a connection arrives, and a failure fails."""

from __future__ import annotations

import asyncio
import struct
import wave
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from apps.accounts.models import Organisation
from apps.interviews.models import Interview, Turn
from tests.faults import bystanders
from tests.faults.client import LivePage, Visitor
from tests.faults.exchange import Reply
from tests.faults.invariants import (
    kept_findings,
    log_findings,
    rows_findings,
    spool_records,
    state_findings,
)
from tests.faults.kept_answer import KeptAnswer, pcm_of
from tests.faults.lab import Lab, Scenario
from tests.faults.processes import Unavailable
from tests.faults.proxy import Proxy
from tests.faults.runner import Options, Result, Runner, closing_lines, run_one
from tests.faults.site import Site
from tests.live.stack import Person

HEADER_BYTES = 32


def a_page(frames: int = 6, *, acked: int = 5, interview: str = "", seed: int = 0) -> LivePage:
    """A page that recorded so much and was promised that."""
    page = LivePage(Visitor("http://127.0.0.1:1", interview, ""), seed=seed)
    kept = page.answers[1] = KeptAnswer(1)
    kept.record(frames, loud=True, seed=seed)
    kept.acked = acked
    return page


def stored(page: LivePage) -> dict[int, bytes]:
    return {seq: raw[HEADER_BYTES:] for seq, raw in enumerate(page.answers[1].frames)}


def test_what_was_promised_and_is_there_is_no_finding() -> None:
    page = a_page()
    assert kept_findings(1, stored(page), [page]) == []


def test_a_promised_frame_that_is_lost_is_found() -> None:
    page = a_page()
    kept = stored(page)
    del kept[3]
    assert kept_findings(1, kept, [page]) == ["answer 1: frame 3 was acknowledged and is lost"]


def test_frames_that_were_never_promised_may_be_missing() -> None:
    page = a_page(acked=2)
    kept = {seq: pcm for seq, pcm in stored(page).items() if seq <= 2}
    assert kept_findings(1, kept, [page]) == []


def test_a_frame_kept_in_anothers_place_is_found() -> None:
    page = a_page()
    kept = stored(page) | {4: stored(page)[3]}
    assert "answer 1: frame 4 is not what was sent" in kept_findings(1, kept, [page])


def test_a_frame_kept_once_more_at_the_end_is_found() -> None:
    page = a_page()
    kept = stored(page) | {6: stored(page)[5]}
    assert kept_findings(1, kept, [page]) == ["answer 1: nobody sent what is kept as frame 6"]


def test_a_lost_frame_behind_a_gap_is_no_finding_and_one_before_it_is() -> None:
    page = a_page()
    page.lose(2, 4, answer=1)
    kept = {seq: pcm for seq, pcm in stored(page).items() if seq not in {1, 2, 3}}
    assert kept_findings(1, kept, [page]) == ["answer 1: frame 1 was acknowledged and is lost"]


def test_each_of_two_pages_must_find_what_it_was_promised() -> None:
    one, other = a_page(seed=1), a_page(seed=2)
    found = kept_findings(1, stored(one), [one, other])
    assert found
    assert all("is not what was sent" in line for line in found)


def spool_of(frames: list[bytes]) -> bytes:
    return bytes(HEADER_BYTES) + b"".join(frames)


def test_a_spool_is_read_up_to_its_torn_tail() -> None:
    frames = a_page().answers[1].frames
    whole = dict(spool_records(spool_of(frames), 1))
    assert whole == stored(a_page())
    assert list(dict(spool_records(spool_of(frames)[:-1], 1))) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("order", [[0, 1, 1, 2], [0, 2, 1], [1, 2]])
def test_a_spool_with_frames_out_of_order_or_twice_is_found(order: list[int]) -> None:
    frames = a_page().answers[1].frames
    with pytest.raises(AssertionError, match="is due"):
        list(spool_records(spool_of([frames[seq] for seq in order]), 1))


def keep(folder: Path, page: LivePage, *, without: int | None = None) -> Interview:
    """The interview's rows, and a recording that may lack a frame."""
    interview = Interview.objects.get(public_id=page.visitor.interview)
    question = interview.template.questions.get()
    turn = Turn.objects.create(
        interview=interview, number=1, question=question, status="answered", end_reason="done"
    )
    turn.audio_path, turn.transcript = "0001.wav", "words"
    turn.save()
    (folder / "media").mkdir(parents=True)
    with wave.open(str(folder / "media" / "0001.wav"), "wb") as wav:
        wav.setparams((1, 2, 16_000, 0, "NONE", ""))
        wav.writeframes(b"".join(pcm for seq, pcm in stored(page).items() if seq != without))
    return interview


def a_site(folder: Path, log: str = "", *replies: Reply) -> Site:
    site = object.__new__(Site)
    site.folder, site.replies = folder, list(replies)
    site.workers = []
    site.web = cast(Any, type("Web", (), {"said": log}))
    return site


@pytest.mark.django_db
def test_a_recording_that_lacks_a_frame_and_an_answer_without_a_score_are_found(tmp_path: Path) -> None:
    page = a_page(interview=str(Person(questions=1).interview.public_id))
    keep(tmp_path, page, without=2)
    found = rows_findings(a_site(tmp_path), [page])
    assert any(line.startswith("I1 answer 1: frame 2 is not") for line in found)
    assert any(line.startswith("I1 answer 1: frame 5 was acknowledged and is lost") for line in found)
    assert "I2 answer 1 is answered and has 0 scores" in found


@pytest.mark.django_db
def test_a_finished_interview_without_its_job_is_found(tmp_path: Path) -> None:
    page = a_page(interview=str(Person(questions=1).interview.public_id))
    interview = keep(tmp_path, page)
    assert rows_findings(a_site(tmp_path), [page]) == ["I2 answer 1 is answered and has 0 scores"]
    interview.status = Interview.Status.FINISHED
    interview.save()
    assert "I2 the interview is finished and has 0 analysis jobs" in rows_findings(a_site(tmp_path), [page])


@pytest.mark.django_db
def test_a_touched_bystander_is_found(tmp_path: Path) -> None:
    before = bystanders.make(tmp_path)
    assert bystanders.changes(before, tmp_path) == []
    Organisation.objects.filter(slug=bystanders.SLUG).update(name="Touched")
    (tmp_path / "media" / bystanders.RECORDING).write_bytes(b"other")
    assert bystanders.changes(before, tmp_path) == ["Organisation", "recording"]


def test_an_error_page_and_a_stack_trace_are_found(tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):\n  File "x.py", line 1, in y\n'
    assert log_findings(a_site(tmp_path, "all is well", Reply(200, {}, ""))) == []
    assert log_findings(a_site(tmp_path, "", Reply(503, {"retry-after": "5"}, ""))) == []
    assert log_findings(a_site(tmp_path, "", Reply(503, {}, "")))
    assert log_findings(a_site(tmp_path, "", Reply(500, {}, "")))
    assert log_findings(a_site(tmp_path, "", Reply(200, {}, trace)))
    assert log_findings(a_site(tmp_path, trace))


def test_a_page_that_waited_too_long_is_found() -> None:
    page = a_page()
    page.attempts = [replace_took(took_s) for took_s in (1.0, 31.0)]
    assert state_findings(page, 30.0) == ["I3 a page saw nothing for 31.0 s"]


def replace_took(took_s: float) -> Any:
    return type("Attempt", (), {"took_s": took_s})


async def passing(lab: Lab) -> None:
    lab.measured("answer", 42.0, "")


async def failing(lab: Lab) -> None:
    raise AssertionError("it does not hold")


async def complaining(lab: Lab) -> None:
    page = a_page()
    page.complaints.append("it was not so")
    lab.pages.append(page)


async def meansless(lab: Lab) -> None:
    raise Unavailable("no such server")


async def endless(lab: Lab) -> None:
    await asyncio.sleep(600)


def a_scenario(run: Any, key: str = "X1", limit_s: float = 60.0) -> Scenario:
    return Scenario(key, run.__name__, run, limit_s=limit_s)


@pytest.mark.parametrize(
    ("run", "outcome", "why"),
    [
        (passing, "passed", ""),
        (failing, "failed", "it does not hold"),
        (complaining, "failed", "page: it was not so"),
        (meansless, "skipped", "no such server"),
    ],
)
def test_a_scenario_comes_out_as_it_should(tmp_path: Path, run: Any, outcome: str, why: str) -> None:
    result = run_one(a_scenario(run), tmp_path, tmp_path, Options())
    assert result.outcome == outcome
    assert why in result.why


def test_the_closing_line_counts_and_a_failure_fails() -> None:
    passed, failed, skipped = Result("F01", "passed"), Result("F02", "failed"), Result("F03", "skipped")
    lines, is_bad = closing_lines([passed, passed], strict=True)
    assert (lines[-1], is_bad) == ("faultlab: 2 passed, 0 failed", False)
    lines, is_bad = closing_lines([passed, failed], strict=False)
    assert (lines[-1], is_bad) == ("faultlab: 1 passed, 1 failed", True)
    assert closing_lines([passed, skipped], strict=False)[1] is False
    lines, is_bad = closing_lines([passed, skipped], strict=True)
    assert is_bad
    assert any("F03" in line for line in lines)


def test_one_that_passes_alone_is_named_as_retried() -> None:
    retried = replace(Result("F01", "passed"), retried=True)
    assert "retried: F01 passed alone" in closing_lines([retried], strict=True)[0]


@pytest.mark.filterwarnings("ignore:This process")
def test_one_that_hangs_is_killed_and_one_that_fails_is_tried_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Runner, "_migrate", lambda self: None)
    hung, failed = a_scenario(endless, "X1", limit_s=0.5), a_scenario(failing, "X2")
    results = Runner(Options(jobs=2)).run([hung, failed, a_scenario(passing, "X3")])
    assert [result.outcome for result in results] == ["failed", "failed", "passed"]
    assert "killed after" in results[0].why
    assert results[2].figures == ["answer 42.00"]
    said = capsys.readouterr().out
    assert [said.count(key) for key in ("X1", "X2", "X3")] == [2, 2, 1]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(1 << 16):
        writer.write(block)
    writer.close()


@pytest.fixture
async def proxy() -> Any:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with Proxy(server.sockets[0].getsockname()[1]) as proxy:
        yield proxy
    server.close()


async def there_and_back(proxy: Proxy, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    try:
        writer.write(sent)
        return await asyncio.wait_for(reader.readexactly(len(sent)), 30)
    finally:
        writer.close()


async def test_slices_and_delays_change_no_byte(proxy: Proxy) -> None:
    proxy.up.slice_bytes, proxy.down.slice_bytes = 7, 1
    proxy.up.latency_s = proxy.up.jitter_s = 0.01
    sent = b"".join(struct.pack(">H", number) for number in range(1_000))
    assert await there_and_back(proxy, sent) == sent
    assert proxy.up.passed == proxy.down.passed == 2_000


async def test_what_falls_into_a_hole_never_comes_out(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    proxy.hole(on=True)
    writer.write(b"lost")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.read(1), 0.3)
    proxy.hole(on=False)
    writer.write(b"garbage after a hole")
    assert await asyncio.wait_for(reader.read(), 30) == b""
    writer.close()


async def test_a_reset_ends_connections_and_a_closed_door_lets_nobody_in(proxy: Proxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    writer.write(b"x")
    assert await asyncio.wait_for(reader.readexactly(1), 30) == b"x"
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(reader.read(), 30)
    writer.close()
    await proxy.close_door()
    with pytest.raises(OSError):  # noqa: PT011 - refused, in whatever words
        await asyncio.open_connection("127.0.0.1", proxy.port)
    await proxy.open_door()
    assert await there_and_back(proxy, b"again") == b"again"


async def test_a_limit_cuts_after_so_many_bytes(proxy: Proxy) -> None:
    proxy.down.limit_bytes, proxy.down.slice_bytes = 10, 1
    with pytest.raises(asyncio.IncompleteReadError) as cut:
        await there_and_back(proxy, bytes(100))
    assert len(cut.value.partial) == 10


def test_no_two_frames_of_the_lab_are_alike() -> None:
    frames = {
        pcm_of(seq, seed=seed, loud=loud) for seq in range(300) for seed in range(4) for loud in (True, False)
    }
    assert len(frames) == 300 * 4 * 2
