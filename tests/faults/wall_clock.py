"""A wall clock that follows a file, by libfaketime. The monotonic clock stays what it is."""

from __future__ import annotations

from pathlib import Path

from tests.faults.processes import Unavailable

LIBRARY = "*/faketime/libfaketimeMT.so.1"


def faked(folder: Path) -> tuple[dict[str, str], Path]:
    """The environment of a process that reads this clock, and the file: "+86400" is a day ahead."""
    found = sorted(Path("/usr/lib").glob(LIBRARY))
    if not found:
        raise Unavailable("no libfaketime on this machine")
    clock = folder / "clock"
    clock.write_text("+0")
    environment = {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    return environment, clock
