"""`demo`: the organisation, recruiter and practice interviews that a first start shows."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser

from apps.interviews.services.demo import RECRUITER, demo_create
from apps.ops.command import PlainCommand


class Command(PlainCommand):
    help = "Make the demo organisation, recruiter and practice interviews, unless there is an organisation."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="Print one JSON object.")

    def handle(self, *args: Any, as_json: bool = False, **options: Any) -> None:
        demo = demo_create()
        if as_json:
            self.stdout.write(json.dumps({"created": demo.created, "password": demo.password}))
        elif not demo.created:
            self.stdout.write("There is an organisation already; nothing was made.")
        elif demo.password:
            self.stdout.write(f"Recruiter {RECRUITER}, password {demo.password} (shown only now).")
        else:
            self.stdout.write("The demo is ready. Make a recruiter with `python manage.py createsuperuser`.")
