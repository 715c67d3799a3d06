"""A socket of the bounded server without a network: its wire is scripted, its loop turns when told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import daphne.server  # noqa: F401 - first: it chooses Twisted's reactor
from daphne.ws_protocol import WebSocketFactory
from twisted.internet import testing

from apps.ops.daphne_connections import BoundedProtocol
from tests.ops.flooded import UPGRADE

twisted: Any = testing  # typed by halves
PONG = b"\x8a\x00"


class Turns:
    """A reactor whose loop goes round when told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def callLater(self, _delay_s: float, call: Callable[[], None]) -> None:  # noqa: N802 - Twisted's name
        self.waiting.append(call)

    def go_round(self) -> None:
        due, self.waiting = self.waiting, []
        for call in due:
            call()


class Wire(twisted.StringTransport):  # type: ignore[misc]
    reactor: Turns

    def unregisterProducer(self) -> None:  # noqa: N802 - Twisted's name; a real one forgives as well
        self.producer = None

    def pongs(self) -> int:
        return int(self.value().count(PONG))


def opened_socket(kind: type[BoundedProtocol] = BoundedProtocol) -> tuple[BoundedProtocol, Wire]:
    """A socket that its application accepted; nobody takes its messages."""
    server = SimpleNamespace(
        root_path="",
        proxy_forwarded_address_header=None,
        protocol_connected=lambda protocol: None,
        create_application=lambda protocol, scope: asyncio.Queue(),
        log_action=lambda *action: None,
    )
    wire = Wire()
    wire.reactor = Turns()
    protocol = kind()
    protocol.factory = WebSocketFactory(server)
    protocol._raw_query_string = b""
    protocol.makeConnection(wire)
    protocol.dataReceived(UPGRADE % b"/")
    protocol.serverAccept()
    return protocol, wire
