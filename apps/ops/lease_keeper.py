"""Keeps a job while its work runs, and ends the process of work that is far over its step's limit."""

from __future__ import annotations

import logging
import os
import signal
import threading

from django.db import Error, connection

from apps.ops.job_ends import attempt_ended, attempt_timed_out, where
from apps.ops.job_kinds import JobKind
from apps.ops.jobs import REASON_TIMEOUT, Lease, job_beat
from apps.ops.steps import Step

logger = logging.getLogger(__name__)

BEAT_S = 2.0
GRACE_S = 5.0


class LeaseKeeper:
    """Raises the job's beat from a thread of its own while the `with` block works.

    Killing is the last resort, for native code that no exception reaches; the pool starts a new process.
    """

    def __init__(self, lease: Lease, kind: JobKind) -> None:
        self._lease = lease
        self._kind = kind
        self._step = Step(kind.step_s)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)

    def __enter__(self) -> Step:
        self._thread.start()
        return self._step

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _keep(self) -> None:
        try:
            while not self._over.wait(BEAT_S):
                if self._step.left_s < -GRACE_S:
                    self._kill()
                self._beat()
        finally:
            connection.close()  # this thread's own

    def _beat(self) -> None:
        try:
            if not job_beat(self._lease):
                self._step.lose()
        except Error as exc:
            logger.warning("beat of job %s not raised: %s", self._lease.kind, type(exc).__name__)
            connection.close()  # a connection that broke stays broken

    def _kill(self) -> None:
        logger.error("job %s is far over its step's limit: its process is killed", self._lease.kind)
        try:
            attempt_timed_out(self._lease, self._kind)
            attempt_ended(self._lease, REASON_TIMEOUT)
        except Exception as exc:  # noqa: BLE001 - the process must end; the sweeper then finds the job
            logger.warning("timeout not written: %s at %s", type(exc).__name__, where(exc.__traceback__))
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
