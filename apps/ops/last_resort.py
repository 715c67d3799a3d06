"""The end of a process that was told to stop, whatever hangs in it."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time

WORDS_S = 2.0  # what is left for the last log line; after it the kernel ends the process
logger = logging.getLogger(__name__)


def exit_within(limit_s: float) -> None:
    """End this process after the time if it still lives then. Call from the main thread."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, limit_s)  # needs no Python: a lock held for ever cannot stop it
    threading.Thread(target=_leave, args=(limit_s,), name="last resort", daemon=True).start()


def _leave(limit_s: float) -> None:
    time.sleep(max(0.0, limit_s - WORDS_S))
    logger.critical("something still hangs %.0f s after the signal to stop; leaving", limit_s - WORDS_S)
    os._exit(1)
