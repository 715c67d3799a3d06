"""How often a web process looks for garbage in cycles; everybody waits meanwhile."""

from __future__ import annotations

import gc

# With Python's own 700 a process of 500 sockets looked through all it holds every few seconds, for 0.2-0.3 s
# (measured: 0.87 s of the first 7 s after a restart).
NEW_OBJECTS = 50_000


def collect_rarely() -> None:
    """What was loaded by now stays for good and is never looked through; call it once all is imported."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 5, 2)  # what a closed socket leaves is found within half a million objects
