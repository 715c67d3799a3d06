"""`make bench`: B0, the one path from speech to feedback, measured here. Prints tables, writes var/bench/.

Machines are shared and noisy: what is compared runs interleaved in one run; ratios count, not milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from argparse import ArgumentParser
from pathlib import Path

from tests.bench import paths, server
from tests.bench.figures import Table, machine
from tests.inference.spoken import MODEL, ROOT

OUT = ROOT / "var" / "bench"


def main() -> int:
    parser = ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each measurement (default 10)")
    parser.add_argument("--no-server", action="store_true", help="leave start-up time and memory out")
    options = parser.parse_args()
    if not (MODEL / "model.bin").exists():
        print(f"No speech model in {MODEL}: run `make install` first.", file=sys.stderr)
        return 1
    tables = [paths.decode_cut_against_padded(options.rounds)]
    tables.append(asyncio.run(paths.end_of_speech(options.rounds)))
    if not options.no_server:
        tables += server.start_and_memory()
    print(machine())
    for table in tables:
        print(f"\n{table}")
    print(f"\nwritten to {_write(tables)}")
    return 0 if all(table.holds for table in tables) else 1


def _write(tables: list[Table]) -> Path:
    OUT.mkdir(parents=True, exist_ok=True)
    out = OUT / f"b0-{time.strftime('%Y%m%d-%H%M%S')}.json"
    out.write_text(
        json.dumps({"machine": machine(), "tables": [table.plain() for table in tables]}, indent=1)
    )
    return out.relative_to(ROOT)


if __name__ == "__main__":
    sys.exit(main())
