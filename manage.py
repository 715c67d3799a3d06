#!/usr/bin/env python
"""Django's command line for Viva."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "interview_site.settings")
    try:
        import django  # noqa: PLC0415
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
        from django.core.management import execute_from_command_line  # noqa: PLC0415
    except ImportError:
        sys.exit(
            "Viva is not installed in this Python. Run `make install`, then .venv/bin/python manage.py …"
        )
    try:
        django.setup()
    except ImproperlyConfigured as exc:
        sys.exit(str(exc))  # a wrong setting: one line, exit 1
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
