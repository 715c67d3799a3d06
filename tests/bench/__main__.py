"""`make bench`: what a speaker waits for, who is cut off, what hearing costs and misses.

Machines are shared and noisy: what is compared runs side by side in one run; ratios count, not milliseconds.
Prints tables, writes var/bench/. Exits 1 when a goal is missed. docs/performance.md tells the method.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from inference.bootstrap import build_engines, close_engines, start_engines
from inference.config import LlmConfig, RecognizerConfig
from inference.ports import Engines
from tests.bench import accuracy, crowd, cutoffs, end_of_speech, paths, server
from tests.bench.figures import Table, machine, say
from tests.bench.lockstep import STUCK_S
from tests.inference.spoken import MODEL, ROOT

OUT = ROOT / "var" / "bench"
AT_ONCE = 2


async def b0(options: Namespace) -> list[Table]:
    """The one path from speech to feedback; the rules; start-up time and memory."""
    rounds = options.rounds or 5
    tables = [await asyncio.to_thread(paths.decode_cut_against_padded, rounds)]
    tables.append(await paths.end_of_speech(rounds))
    tables.append(await asyncio.to_thread(paths.rules_on_long_answers, rounds))
    return tables if options.no_server else tables + await asyncio.to_thread(server.start_and_memory)


async def b1(options: Namespace) -> list[Table]:
    """End of speech to last word, content and commits, at 1, 2, 4 and 8 sessions."""
    async with _engines() as engines:
        return await end_of_speech.end_of_speech(engines, options.sessions, options.rounds or 7)


async def b2(options: Namespace) -> list[Table]:
    """Who is cut off."""
    async with _engines(patient=True) as engines:
        return await cutoffs.cut_offs(engines, options.takes)


async def b6(options: Namespace) -> list[Table]:
    """200 speakers in one process."""
    return await crowd.crowd(options.rounds or 2)


async def b7(options: Namespace) -> list[Table]:
    """Words missed, and words that nobody said."""
    tables = await asyncio.to_thread(accuracy.cut_against_padded)
    async with _engines(patient=True) as engines:
        return [*tables, await accuracy.from_nothing(engines)]


PARTS: dict[str, Callable[[Namespace], Awaitable[list[Table]]]] = {
    "b0": b0,
    "b1": b1,
    "b2": b2,
    "b6": b6,
    "b7": b7,
}


def main() -> int:
    options = _options()
    if not (MODEL / "model.bin").exists():
        print(f"No speech model in {MODEL}: run `make install` first.", file=sys.stderr)
        return 1
    print(machine())
    tables: list[Table] = []
    for name in options.parts or PARTS:
        began = time.monotonic()
        for table in asyncio.run(_run(name, options)):
            tables.append(table)
            print(f"\n{table}", flush=True)
        say(f"{name}: {time.monotonic() - began:.0f} s")
    missed = sum(not table.holds for table in tables)
    print(f"\n{'Every goal holds' if not missed else f'Goals are missed in {missed} tables'}")
    print(f"written to {_write('-'.join(options.parts or PARTS), tables)}")
    return 1 if missed else 0


def _options() -> Namespace:
    parser = ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="b0|b1|b2|b6|b7", help="default: all of them")
    parser.add_argument("--rounds", type=int, help="of b0 and b6; the least answers of b1 at each number")
    parser.add_argument("--sessions", type=_numbers, default=[1, 2, 4, 8], help="of b1 (default 1,2,4,8)")
    parser.add_argument(
        "--takes", type=int, default=6, help="of b2: made answers of each clip, 1-6 (default 6)"
    )
    parser.add_argument("--no-server", action="store_true", help="b0 without start-up time and memory")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return options


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


async def _run(name: str, options: Namespace) -> list[Table]:
    return await PARTS[name](options)


@asynccontextmanager
async def _engines(*, patient: bool = False) -> AsyncIterator[Engines]:
    """As a server has them. `patient`: where wall time means nothing, no decode is taken for hung."""
    config = RecognizerConfig(MODEL, at_once=AT_ONCE)
    config = replace(config, kill_after_s=STUCK_S) if patient else config
    engines = build_engines(config, LlmConfig())
    await start_engines(engines)
    try:
        yield engines
    finally:
        await close_engines(engines)


def _write(name: str, tables: list[Table]) -> Path:
    OUT.mkdir(parents=True, exist_ok=True)
    out = OUT / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    plain = {"machine": machine(), "tables": [table.plain() for table in tables]}
    out.write_text(json.dumps(plain, indent=1))
    return out.relative_to(ROOT)


if __name__ == "__main__":
    sys.exit(main())
