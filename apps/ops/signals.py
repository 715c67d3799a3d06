"""Moments of the web process that other apps may act on. ops is below them and cannot call them."""

from __future__ import annotations

from django.dispatch import Signal

server_listening = Signal()
"""The port answers. Sent once, in the server's event loop; receivers must not block (start a task or a thread)."""

server_stopping = Signal()
"""The server was told to stop. A receiver may return an awaitable; they get 3 s together before sockets drop."""
