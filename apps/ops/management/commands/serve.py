"""`serve`: one web process for production. Redis, workers and the database are somebody else's to run."""

from __future__ import annotations

import socket
from typing import Any

from channels.routing import get_default_application
from daphne.endpoints import build_endpoint_description_strings
from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from apps.ops.command import PlainCommand
from apps.ops.embedded import MAX_PORT, StartRefused, require_free_port, require_writable
from apps.ops.launch import require_migrated, require_speech_model


class Command(PlainCommand):
    help = "Serve pages and sockets in this one process, until SIGTERM. Start Redis and workers yourself."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="Address to listen on (127.0.0.1).")
        parser.add_argument(
            "--port", type=int, default=settings.PORT, help=f"Port to listen on ({settings.PORT})."
        )

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        from apps.ops.daphne_server import BoundedServer  # noqa: PLC0415 - installs Twisted's reactor
        from apps.ops.descriptors import raise_limit  # noqa: PLC0415

        if not 1 <= port <= MAX_PORT:
            raise CommandError(f"Port {port}: use one from 1 to {MAX_PORT}.", returncode=2)
        try:
            self._require_ready(host, port)
        except StartRefused as exc:
            raise CommandError(str(exc)) from exc
        raise_limit()
        server = BoundedServer(
            get_default_application(), endpoints=build_endpoint_description_strings(host=host, port=port)
        )
        self.stdout.write(f"Serving on {host} port {port}. SIGTERM stops it within 20 s.")
        self.stdout.flush()
        server.run()
        if server.failed_to_listen:
            raise CommandError(f"Cannot listen on {host} port {port}: {server.failed_to_listen}")

    def _require_ready(self, host: str, port: int) -> None:
        if not settings.ALLOWED_HOSTS:
            raise StartRefused("ALLOWED_ORIGINS is empty. Set it to the site's address.")
        self.check()
        require_writable(settings.VAR_DIR)
        require_free_port(host, port, socket.AF_INET6 if ":" in host else socket.AF_INET)
        require_speech_model()
        require_migrated()
        if not settings.DEBUG and not (settings.STATIC_ROOT / "staticfiles.json").is_file():
            raise StartRefused("Styles and scripts are not collected. Run: python manage.py collectstatic")
