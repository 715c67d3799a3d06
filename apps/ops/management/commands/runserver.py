"""`runserver`: the whole site on one machine. The outer process supervises a child (RUN_MAIN=true)."""

from __future__ import annotations

import os
from typing import Any

from daphne.endpoints import build_endpoint_description_strings
from daphne.management.commands.runserver import Command as DaphneCommand
from daphne.management.commands.runserver import get_default_application
from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from apps.ops.command import PlainCommand
from apps.ops.daphne_server import BoundedServer
from apps.ops.embedded import MAX_PORT, StartRefused
from apps.ops.launch import Address, Launch, LaunchOptions


class Command(PlainCommand, DaphneCommand):  # type: ignore[misc]
    help = "Serve Viva: pages and sockets, with an embedded Redis and a worker unless REDIS_URL is set."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--no-worker", action="store_true", help="Start no Celery worker.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.ALLOWED_HOSTS:
            raise CommandError(
                "ALLOWED_ORIGINS is empty. With DEBUG=0 set it to the site's address, such as https://viva.example.org."
            )
        self.default_port = str(settings.PORT)
        super().handle(*args, **options)

    def run(self, **options: Any) -> None:
        """Django's handle() has read address and port by now."""
        if not 1 <= int(self.port) <= MAX_PORT:
            raise CommandError(f"Port {self.port}: use one from 1 to {MAX_PORT}.", returncode=2)
        if os.environ.get("RUN_MAIN") == "true":
            return self._serve()
        address = Address(self.addr, int(self.port), self.use_ipv6)
        reload = options["use_reloader"] and settings.DEBUG
        try:
            Launch(LaunchOptions(address, not options["no_worker"], reload), self._say).run()
        except StartRefused as exc:
            raise CommandError(str(exc)) from exc
        return None

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()

    def _serve(self) -> None:
        self.check()
        server = BoundedServer(
            get_default_application(),
            endpoints=build_endpoint_description_strings(host=self.addr, port=int(self.port)),
        )
        server.run()
        if server.failed_to_listen:
            raise CommandError(f"Cannot listen on port {self.port}: {server.failed_to_listen}")
