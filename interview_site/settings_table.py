"""docs/settings.md from the settings' own declarations. `--check` only compares."""

from __future__ import annotations

import argparse
import sys

from interview_site import settings  # noqa: F401 - declares every setting
from interview_site.env import ROOT, SETTINGS

PAGE = ROOT / "docs" / "settings.md"
HEAD = """# Settings

Environment variables, all optional on a laptop. A wrong value stops the start with one line that names it.
Generated from the declarations in `interview_site/settings.py`: `python -m interview_site.settings_table`.

| variable | meaning | default |
|---|---|---|
"""


def settings_page() -> str:
    rows = (
        f"| `{one.name}` | {one.meaning} | {one.shown_default or f'`{one.default}`'} |" for one in SETTINGS
    )
    return HEAD + "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/settings.md.")
    parser.add_argument("--check", action="store_true", help="Exit 1 when it is stale; write nothing.")
    stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != settings_page()
    if parser.parse_args().check:
        if stale:
            sys.exit("docs/settings.md is stale. Run: python -m interview_site.settings_table")
    elif stale:
        PAGE.write_text(settings_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
