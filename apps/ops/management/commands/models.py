"""`models fetch | list | verify`: the speech models on this disk. Results on stdout, progress on stderr."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from apps.ops.command import PlainCommand
from apps.ops.engine_settings import require_speech_model_known
from inference.models import (
    Model,
    ModelOutOfReach,
    ModelUnavailable,
    Progress,
    fetch,
    installed,
    registry,
    verify,
)

SOURCES_SHOWN = 2  # from this verbosity on


class Command(PlainCommand):
    help = "Get, show or check the models that Viva hears with."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, what in (
            ("fetch", "Get models into MODELS_DIR (ASR_MODEL when none is named); resumes."),
            ("list", "Show every known model and whether it is here."),
            ("verify", "Check the files on this disk against their SHA-256."),
        ):
            action = actions.add_parser(name, help=what, description=what)
            action.add_argument("--json", action="store_true", dest="as_json", help="One JSON object a line.")
            if name != "list":
                action.add_argument("names", nargs="*", metavar="NAME")
            if name == "fetch":
                action.add_argument(
                    "--optional",
                    action="store_true",
                    help="Out of reach is no failure: answers can be typed.",
                )

    def handle(self, *args: Any, action: str, as_json: bool, **options: Any) -> None:
        self.as_json = as_json
        self.sources_shown = options["verbosity"] >= SOURCES_SHOWN
        names = options.get("names") or []
        try:
            {"fetch": self._fetch, "list": self._list, "verify": self._verify}[action](names)
        except ModelUnavailable as exc:
            if not (options.get("optional") and isinstance(exc, ModelOutOfReach)):
                raise CommandError(str(exc)) from exc
            self.stderr.write(f"  {exc} Until then answers are typed.")

    def _fetch(self, names: list[str]) -> None:
        if not names:
            require_speech_model_known()
        for name in names or [settings.ASR_MODEL]:
            folder = fetch(name, settings.MODELS_DIR, self._report)
            self._line(f"{name}: {folder}", {"name": name, "folder": str(folder)})

    def _list(self, _names: list[str]) -> None:
        for model in registry().values():
            here = installed(model.name, settings.MODELS_DIR) is not None
            size = f"{model.size_bytes / 1e6:.0f} MB"
            self._line(
                f"{model.name:<11}{'here' if here else 'not here':<9}{size:>7}  {model.about}",
                {"name": model.name, "installed": here, **_described(model)},
            )

    def _verify(self, names: list[str]) -> None:
        """Named models must be whole; without a name, those that are here."""
        known = names or [name for name in registry() if installed(name, settings.MODELS_DIR)]
        found = {name: verify(name, settings.MODELS_DIR) for name in known}
        for name, problems in found.items():
            self._line(f"{name}: {'; '.join(problems) or 'whole'}", {"name": name, "problems": problems})
        bad = [name for name, problems in found.items() if problems]
        if bad:
            raise CommandError(f"Get them again: python manage.py models fetch {' '.join(bad)}")
        if not found:
            raise CommandError("No model is here. Get one: python manage.py models fetch")

    def _line(self, text: str, fields: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(fields) if self.as_json else text)

    def _report(self, progress: Progress) -> None:
        """On a terminal one line that grows; in a log only what is news. Sources that lack it: with -v 2."""
        if progress.detour and not self.sources_shown:
            return
        whole = progress.done_bytes == progress.total_bytes
        line = f"  Speech model {progress}"
        if self.stderr.isatty():
            self.stderr.write(f"\r{line}\033[K", ending="\n" if progress.note or whole else "")
        elif progress.note or whole:
            self.stderr.write(line)


def _described(model: Model) -> dict[str, Any]:
    return {"about": model.about, "licence": model.licence, "size_bytes": model.size_bytes}
