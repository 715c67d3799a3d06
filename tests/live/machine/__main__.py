"""`python -m tests.live.machine [--runs 10000] [--jobs 2] [--seconds 600] [--seed 1]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

from tests.environment import NOT_OURS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.live.machine", description="The protocol's proof.")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3_600.0, help="begin no more runs after so long")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    _prepare_django()
    from tests.live.machine.runs import run

    result = run(arguments.runs, jobs=arguments.jobs, seconds=arguments.seconds, first=arguments.seed)
    print(result.failure or "every run held", file=sys.stderr if result.failure else sys.stdout)
    print(f"machine: {result.runs} runs in {result.seconds:.0f} s, {result.failed} failed")
    return int(bool(result.failure))


def _prepare_django() -> None:
    for name in NOT_OURS:
        os.environ.pop(name, None)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "interview_site.settings",
        "SECRET_KEY": "the machine's sessions are signed with this and nothing else",
        "DEBUG": "0",
        "VAR_DIR": tempfile.gettempdir() + "/viva-machine-unused",
    }
    import django

    django.setup()


if __name__ == "__main__":
    sys.exit(main())
