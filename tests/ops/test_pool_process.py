"""A worker's pool process in the middle of a task ends with its worker: Celery sees to it on Linux."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from celery import current_app
from django.db import transaction

from apps.ops.jobs import job_enqueue
from tests.database import site_database
from tests.ops.site import alive
from tests.ops.worker_stack import Stack, wait_until


def pool_process(worker_pid: int) -> int:
    children = Path(f"/proc/{worker_pid}/task/{worker_pid}/children").read_text()
    return int(re.findall(r"\d+", children)[0])


def test_a_busy_pool_process_does_not_outlive_a_killed_worker(
    tmp_path: Path, django_db_blocker: Any, monkeypatch: Any
) -> None:
    with django_db_blocker.unblock(), site_database(tmp_path) as database:
        stack = Stack(tmp_path, database)
        for url in ("broker_url", "broker_write_url"):
            monkeypatch.setattr(current_app.conf, url, stack.redis.url + "/0")
        try:
            stack.redis.start()
            stack.start_workers(1)
            worker = stack.workers[0].process
            pool = pool_process(worker.pid)
            with transaction.atomic():
                job_enqueue(organisation_id=1, kind="slow", subject_id=1)  # ten minutes of work
            wait_until(lambda: "start 1" in stack.marks(), 60)
            worker.kill()
            worker.wait()
            wait_until(lambda: not alive(pool), 30)
            assert not alive(pool)
        finally:
            stack.close()
