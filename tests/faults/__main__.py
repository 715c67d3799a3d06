"""`python -m tests.faults [F01 F02 …] [--list] [--quick] [--long] [--jobs N] [--patience X]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tests.environment import NOT_OURS

if TYPE_CHECKING:
    from tests.faults.lab import Scenario

FOLDER = Path(__file__).parent


def main() -> int:
    arguments = _arguments()
    _prepare_django()
    for file in sorted(FOLDER.glob("scenarios_*.py")):
        import_module(f"tests.faults.{file.stem}")
    from tests.faults.lab import SCENARIOS
    from tests.faults.runner import Options, Runner, closing_lines

    chosen = [one for _, one in sorted(SCENARIOS.items()) if _is_chosen(one, arguments)]
    if arguments.list:
        for one in chosen:
            print(f"{one.id:<8}{'quick ' if one.quick else 'long  ' if one.long else '      '}{one.title}")
        return 0
    if not chosen:
        print("no such scenario: see --list", file=sys.stderr)
        return 2
    results = Runner(Options(arguments.patience, arguments.jobs, arguments.seed)).run(chosen)
    strict = arguments.quick and os.environ.get("CI") == "true"
    lines, failed = closing_lines(results, strict=strict)
    print("\n".join(lines))
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="The fault lab.")
    parser.add_argument("ids", nargs="*", help="F53b, or F53 for all its variants; none: all")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    parser.add_argument("--quick", action="store_true", help="the quick ones only")
    parser.add_argument("--long", action="store_true", help="those that wait in real time, too")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (2)")
    parser.add_argument("--patience", type=float, default=3.0, help="stretches every time bound (3)")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def _is_chosen(one: Scenario, arguments: argparse.Namespace) -> bool:
    if one.id in arguments.ids:
        return True
    if arguments.ids and one.id.rstrip("abcdefgh") not in arguments.ids:
        return False
    if arguments.quick:
        return one.quick
    return bool(arguments.long) or not one.long


def _prepare_django() -> None:
    """Nobody's own settings or rows: the lab's sites have their own."""
    for name in NOT_OURS:
        os.environ.pop(name, None)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "interview_site.settings",
        "SECRET_KEY": "the fault lab signs its sessions with this and nothing else",
        "VAR_DIR": tempfile.gettempdir() + "/viva-fault-lab-unused",
    }
    import django

    django.setup()


if __name__ == "__main__":
    sys.exit(main())
