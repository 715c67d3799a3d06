"""Which pages may open a socket: exact origins, scheme and port included."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def origin_allowed(origin: str, host: str, *, allowed: Iterable[str], same_host: bool) -> bool:
    """Whether `origin` is one of `allowed`; with none set, and only where `same_host`, that of `host` itself.

    `host` is the Host header. No origin at all is none of ours: browsers always send one.
    """
    asked = _parts(origin)
    if asked is None:
        return False
    known = [_parts(url) for url in allowed]
    if known or not same_host:
        return asked in known
    return asked == _parts(f"{asked[0]}://{host}")


def _parts(url: str) -> tuple[str, str, int] | None:
    """(scheme, host, port), or None for what is no origin: a path, a user, another scheme."""
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError:
        return None
    if split.scheme not in _DEFAULT_PORTS or not split.hostname or "@" in split.netloc:
        return None
    if split.path not in {"", "/"} or split.query or split.fragment:
        return None
    return split.scheme, split.hostname, port or _DEFAULT_PORTS[split.scheme]
