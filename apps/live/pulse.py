"""Signs of life of one socket, both ways: heartbeats, idleness, round-trip time. Knows no sockets.

Time is what the ticks say has passed, so that a process that stood still does not think its pages gone.
"""

from __future__ import annotations

import time

from apps.live.close_codes import CloseCode, Refused
from apps.live.messages import ServerHeartbeat


class Pulse:
    def __init__(self, idle_s: float, heartbeat_s: float) -> None:
        self._idle_s, self._heartbeat_s = idle_s, heartbeat_s
        self._silent_s = 0.0
        self._since_beat_s = heartbeat_s  # the first tick beats: the round trip is known early
        self._beats = 0
        self._beat_at = 0.0

    def heard(self) -> None:
        """Anything came from the page."""
        self._silent_s = 0.0

    def tick(self, passed_s: float) -> ServerHeartbeat | None:
        """A heartbeat when one is due. Raises Refused (4000) when nothing was heard for too long."""
        self._silent_s += passed_s
        if self._silent_s >= self._idle_s:
            raise Refused(CloseCode.IDLE, f"nothing heard for {self._idle_s:.0f} s")
        self._since_beat_s += passed_s
        if self._since_beat_s < self._heartbeat_s:
            return None
        self._since_beat_s = 0.0
        self._beats += 1
        self._beat_at = time.monotonic()
        return ServerHeartbeat(n=self._beats)

    def echoed(self, n: int | None) -> float | None:
        """The round trip in seconds, if `n` answers the last heartbeat."""
        return time.monotonic() - self._beat_at if n and n == self._beats else None
