"""Settings from the environment: each is declared once with its type, default and meaning.

`docs/settings.md` is generated from SETTINGS. A wrong value stops the start with one line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One environment variable. `shown_default` is what the documentation prints."""

    name: str
    parse: Callable[[str], T]
    default: T
    meaning: str
    shown_default: str = ""

    def read(self) -> T:
        """The value in force. Raises ImproperlyConfigured with one line that names the variable."""
        raw = os.environ.get(self.name, "").strip()
        if not raw:
            return self.default
        try:
            return self.parse(raw)
        except ValueError as exc:
            shown = re.sub(r"//[^/]*@", "//…@", raw)  # a password may stand there
            raise ImproperlyConfigured(f"{self.name}={shown!r}: {exc}") from exc


SETTINGS: list[Setting[Any]] = []
NO_URLS: tuple[str, ...] = ()


def setting(name: str, parse: Callable[[str], T], default: T, meaning: str, shown_default: str = "") -> T:
    """Declare and read one setting."""
    declared = Setting(name, parse, default, meaning, shown_default)
    SETTINGS.append(declared)
    return declared.read()


def boolean(raw: str) -> bool:
    if raw.lower() in {"1", "true", "yes", "on"}:
        return True
    if raw.lower() in {"0", "false", "no", "off"}:
        return False
    raise ValueError("use 1 or 0")


def whole_number(most: int) -> Callable[[str], int]:
    """From 1 to `most`: beyond it nobody means it, and the machine would not bear it."""

    def parse(raw: str) -> int:
        number = int(raw) if raw.isdecimal() else 0
        if not 1 <= number <= most:
            raise ValueError(f"use a whole number from 1 to {most}")
        return number

    return parse


def seconds(least: int, most: int) -> Callable[[str], int]:
    def parse(raw: str) -> int:
        number = int(raw) if raw.isdecimal() else -1
        if not least <= number <= most:
            raise ValueError(f"use seconds, from {least} to {most}")
        return number

    return parse


def port(raw: str) -> int:
    number = int(raw) if raw.isdecimal() else 0
    if not 1 <= number <= 65_535:
        raise ValueError("use a port from 1 to 65535")
    return number


def text(raw: str) -> str:
    return raw


def path(raw: str) -> Path:
    return Path(raw).expanduser().resolve()


def words(raw: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in raw.split(",") if part.strip())


def http_urls(raw: str) -> tuple[str, ...]:
    """Comma-separated http(s) URLs, without a trailing slash."""
    urls = tuple(url.rstrip("/") for url in words(raw))
    for url in urls:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).netloc:
            raise ValueError("use URLs such as http://127.0.0.1:8100/v1, separated by commas")
    return urls


def redis_url(raw: str) -> str:
    if urlsplit(raw).scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("use redis://host:6379")
    return raw.rstrip("/")


def database_url(raw: str) -> str:
    if urlsplit(raw).scheme not in {"postgres", "postgresql", "sqlite"}:
        raise ValueError("use postgres://user:password@host/name or sqlite:///path")
    return raw


def email_url(raw: str) -> dict[str, Any]:
    """Django's EMAIL_* settings."""
    if urlsplit(raw).scheme not in environ.Env.EMAIL_SCHEMES:
        raise ValueError("use smtp+tls://user:password@host:587")
    found: dict[str, Any] = environ.Env.email_url_config(raw)
    return found


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw not in choices:
            raise ValueError("use one of " + ", ".join(choices))
        return raw

    return parse
