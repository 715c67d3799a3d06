"""Moments of the web process that other apps may act on. ops is below them and cannot call them."""

from __future__ import annotations

from django.dispatch import Signal

server_listening = Signal()
"""The port answers. Sent once, in the server's event loop; receivers must not block it."""

server_stopping = Signal()
"""The server was told to stop. A receiver may return an awaitable; all get 3 s before sockets drop."""
