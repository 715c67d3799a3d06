"""Section A of the fault list: workers, their children, poisonous work, and Redis, a doorbell only."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from celery import current_app

from apps.assessment.models import Score
from apps.interviews.models import Interview
from apps.ops import doorbell
from apps.ops.jobs import job_enqueue
from apps.ops.models import Job
from tests.faults.client import LivePage
from tests.faults.lab import Lab, scenario
from tests.faults.processes import descendants
from tests.faults.redis_server import RedisServer
from tests.faults.site import Site
from tests.faults.wall_clock import faked
from tests.inference.llm.scripted_server import Ending, head, scripted_server
from tests.recruiting.people import client_of, recruiter

OURS = 1_000  # the organisation that orders: nobody's id


async def _works(lab: Lab, *, workers: int = 1) -> tuple[Site, RedisServer]:
    """Redis and workers; no web process."""
    redis = await lab.redis()
    site = await lab.site(web=False, redis_url=redis.url)
    for _ in range(workers):
        await lab.worker(site)
    return site, redis


async def _order(lab: Lab, kind: str, *subjects: int) -> None:
    """Jobs as the site orders them."""

    def ordered() -> None:
        for subject in subjects:
            job_enqueue(organisation_id=OURS, kind=kind, subject_id=subject)

    await lab.rows(ordered)


async def _done(lab: Lab, kind: str, count: int, within_s: float) -> list[Job]:
    def done() -> bool:
        return Job.objects.filter(kind=kind, status=Job.Status.DONE).count() == count

    await lab.until(done, lab.within(within_s), rows=True)
    return await lab.rows(lambda: list(Job.objects.filter(kind=kind)))


def _marks(site: Site, word: str, kind: str) -> list[list[str]]:
    return [mark.split() for mark in site.marks() if mark.startswith(f"{word} {kind} ")]


@scenario("F06", "kill -9 the worker's child in mid-job: done again within 15 s, one result")
async def child_killed(lab: Lab) -> None:
    site, _ = await _works(lab)
    await _order(lab, "slow_once", 1)
    await lab.until(lambda: _marks(site, "start", "slow_once"))
    killed_at = time.monotonic()
    os.kill(int(_marks(site, "start", "slow_once")[0][3]), signal.SIGKILL)
    [job] = await _done(lab, "slow_once", 1, 15)
    lab.measured("done after", time.monotonic() - killed_at)
    assert (job.attempts, len(_marks(site, "done", "slow_once"))) == (2, 1)


@scenario("F07", "kill -9 the whole worker: another one does it within 30 s, one result")
async def worker_killed(lab: Lab) -> None:
    site, _ = await _works(lab, workers=2)
    await _order(lab, "slow_once", 1)
    await lab.until(lambda: _marks(site, "start", "slow_once"))
    killed_at, child = time.monotonic(), int(_marks(site, "start", "slow_once")[0][3])
    next(worker for worker in site.workers if child in descendants(worker.pid)).kill()
    [job] = await _done(lab, "slow_once", 1, 30)
    lab.measured("done after", time.monotonic() - killed_at)
    assert (job.attempts, len(_marks(site, "done", "slow_once"))) == (2, 1)


@scenario("F08", "P2 over its limit: its process is killed, `timeout`, nothing half is kept")
async def over_the_limit(lab: Lab) -> None:
    site, _ = await _works(lab)
    await _order(lab, "endless", 1)
    await lab.until(lambda: _marks(site, "start", "endless"))
    child = int(_marks(site, "start", "endless")[0][3])
    await lab.until(lambda: Job.objects.filter(kind="endless", status=Job.Status.TIMEOUT).exists(), rows=True)
    await lab.until(lambda: child not in descendants(site.workers[0].pid))
    await _order(lab, "brief", 2)
    await _done(lab, "brief", 1, 30)  # the worker goes on with a new child
    assert [mark for mark in site.marks() if mark.startswith("failed")] == ["failed 1 timeout"]
    lab.expect_trace("far over its step's limit")


@scenario(
    "F08b", "the analysis waits for a silent model: `timeout`, live scores stay, and the recruiter is told"
)
async def analysis_timed_out(lab: Lab) -> None:
    redis = await lab.redis()
    site = await lab.site(redis_url=redis.url)
    page = await _finished_interview(lab, site)
    async with scripted_server([head(), Ending.HANG]) as model:
        await lab.worker(site, LLM_URLS=model.url, LLM_MODEL="scripted-1", LAB_STEP_S="2")
        timed_out = Job.objects.filter(kind="analyse_interview", status=Job.Status.TIMEOUT)
        await lab.until(timed_out.exists, rows=True)
    scores = Score.objects.filter(turn__interview__public_id=page.visitor.interview)
    assert await lab.rows(lambda: list(scores.values_list("stage", flat=True))) == ["live"]
    cookie = await lab.rows(lambda: _signed_in(page))
    seen = await site.ask("GET", f"/recruiting/interviews/{page.visitor.interview}/", cookie=cookie)
    assert "The analysis timed out." in seen.body
    assert "Try again" in seen.body


@scenario("F09", "a poisonous task: three attempts, then dead; the others do not wait")
async def poison(lab: Lab) -> None:
    site, _ = await _works(lab, workers=2)
    await _order(lab, "poison", 1)
    await _order(lab, "brief", *range(10, 20))
    await _done(lab, "brief", 10, 30)
    dead = Job.objects.filter(kind="poison", status=Job.Status.DEAD)
    await lab.until(dead.exists, lab.within(60), rows=True)
    job = await lab.rows(dead.get)
    assert (job.attempts, len(_marks(site, "start", "poison")), job.reason) == (3, 3, "worker lost")
    assert len(_marks(site, "done", "brief")) == 10


@scenario("F10", "the same job delivered three times at once: one does it, one result")
async def delivered_twice(lab: Lab) -> None:
    site, _ = await _works(lab, workers=2)
    await _order(lab, "brief", 1)
    job_id = await lab.rows(lambda: Job.objects.get(kind="brief").pk)
    for _ in range(2):
        await asyncio.to_thread(current_app.send_task, doorbell.RUN_JOB, args=[job_id])
    [job] = await _done(lab, "brief", 1, 30)
    await asyncio.sleep(2.0)  # a second delivery would be worked on by now
    assert (job.attempts, len(_marks(site, "start", "brief"))) == (1, 1)


@scenario("F11", "Redis killed and back (AOF): live answers go on, no job is lost")
async def redis_killed(lab: Lab) -> None:
    redis = await lab.redis()
    site = await lab.site(redis_url=redis.url)
    page = await lab.page(site)
    await _order(lab, "brief", *range(10))
    redis.kill()
    page.record(10)
    await lab.acked(page, 10)
    await lab.finished(page)
    redis.start()
    await lab.until(redis.answers)
    await lab.worker(site)
    await _done(lab, "brief", 10, 30)
    await _done(lab, "analyse_interview", 1, 30)


@scenario("F12", "Redis wiped: all open jobs come back from the rows", quick=True)
async def redis_wiped(lab: Lab) -> None:
    site, redis = await _works(lab, workers=0)
    await _order(lab, "brief", *range(10))
    redis.flush()
    await lab.worker(site)
    await _done(lab, "brief", 10, 30)
    assert len(_marks(site, "done", "brief")) == 10


async def _finished_interview(lab: Lab, site: Site) -> LivePage:
    page = await lab.page(site, await lab.person(questions=1))
    page.record(10)
    await lab.acked(page, 10)
    page.hand_in()
    await page.until(lambda: page.ended, lab.within(30))
    return page


def _signed_in(page: LivePage) -> str:
    """The cookie of a recruiter who may see this page's interview."""
    interview = Interview.objects.get(public_id=page.visitor.interview)
    client = client_of(recruiter(interview.organisation))
    return f"sessionid={client.cookies['sessionid'].value}"


async def _through_the_lack_of_redis(lab: Lab, redis: RedisServer, site: Site, seconds: float) -> None:
    """A whole interview, and some more audio, while Redis does not answer."""
    began = time.monotonic()
    page = await _finished_interview(lab, site)
    lab.measured("an interview of one answer", time.monotonic() - began)
    speaking = await lab.page(site)
    while time.monotonic() < began + seconds:
        recorded = len(speaking.answers[1].frames)
        speaking.record(5)
        await lab.acked(speaking, recorded + 5)
        await asyncio.sleep(0.5)
    assert speaking.closes == []
    assert (await site.ask("GET", "/readyz")).status == 200
    assert (
        await lab.rows(lambda: Interview.objects.get(public_id=page.visitor.interview).status) == "finished"
    )
    lab.expect_trace("job rings lost|group of live interviews lost")
    await lab.finished(speaking)


@scenario("F13", "Redis away: interviews begin, go on and end; their jobs follow")
async def redis_away(lab: Lab) -> None:
    redis = await lab.redis()
    site = await lab.site(redis_url=redis.url)
    redis.kill()
    await _through_the_lack_of_redis(lab, redis, site, 5.0)
    assert await site.metric("viva_fallbacks_total", reason="layer_lost") > 0
    redis.start()
    await lab.worker(site)
    await _done(lab, "analyse_interview", 2, 30)


@scenario("F13b", "Redis away for 60 s", long=True, limit_s=300)
async def redis_away_for_long(lab: Lab) -> None:
    redis = await lab.redis()
    site = await lab.site(redis_url=redis.url)
    redis.kill()
    await _through_the_lack_of_redis(lab, redis, site, 60.0)


@scenario("F14", "Redis hung (SIGSTOP): every call is bounded, nothing live waits for it")
async def redis_hung(lab: Lab) -> None:
    redis = await lab.redis()
    site = await lab.site(redis_url=redis.url)
    redis.freeze()
    await _through_the_lack_of_redis(lab, redis, site, 5.0)
    redis.thaw()
    await lab.worker(site)
    await _done(lab, "analyse_interview", 2, 30)


@scenario("F14b", "Redis hung for 30 s", long=True, limit_s=300)
async def redis_hung_for_long(lab: Lab) -> None:
    redis = await lab.redis()
    site = await lab.site(redis_url=redis.url)
    redis.freeze()
    await _through_the_lack_of_redis(lab, redis, site, 30.0)
    redis.thaw()


@scenario("F21c", "the wall clock jumps while a job runs: it is not delivered again")
async def clock_jumps_for_workers(lab: Lab) -> None:
    redis = await lab.redis()
    environment, clock = faked(lab.folder)
    site = await lab.site(web=False, redis_url=redis.url, environment=environment)
    for _ in range(2):
        await lab.worker(site)
    await _order(lab, "twelve_seconds", 1)
    await lab.until(lambda: _marks(site, "start", "twelve_seconds"))
    for offset in ("+86400", "-3600"):
        await asyncio.sleep(3.0)
        clock.write_text(offset)
    [job] = await _done(lab, "twelve_seconds", 1, 30)
    assert (job.attempts, len(_marks(site, "start", "twelve_seconds"))) == (1, 1)
