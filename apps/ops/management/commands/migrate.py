"""Django's `migrate`, ending in one line when the database is damaged or away."""

from __future__ import annotations

from django.core.management.commands.migrate import Command as MigrateCommand

from apps.ops.command import PlainCommand


class Command(PlainCommand, MigrateCommand):
    help = MigrateCommand.help
