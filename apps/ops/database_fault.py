"""Why the database cannot be used and what to do, in one line. Knows no command and no page."""

from __future__ import annotations

from django.db import DatabaseError, connection

# SQLite's words for a file that is not, or no longer, one of its own.
_DAMAGED = ("file is not a database", "malformed", "disk I/O error")


def database_fault(exc: DatabaseError) -> str:
    """For the operator: it names the file, which is nobody else's business."""
    reason = " ".join(str(exc).split())
    if connection.vendor != "sqlite":
        return f"The database cannot be used ({reason}). Check DATABASE_URL."
    file = connection.settings_dict["NAME"]
    if any(words in reason for words in _DAMAGED):
        return (
            f"{file} is damaged or no SQLite database ({reason}). "
            "Restore it from a backup, or move it away: the next start makes a new one."
        )
    return f"The database {file} cannot be used ({reason}). Check that it can be written, or DATABASE_URL."
