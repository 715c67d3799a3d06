"""With few file descriptors left nobody new is let in, those inside notice nothing, and it passes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection

from apps.ops.daphne_connections import RETRY_AFTER_S
from tests.ops.flooded import Flooded, closed
from tests.ops.site import wait_for

DESCRIPTORS = 64


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Flooded]:
    with Flooded(tmp_path, descriptors=DESCRIPTORS, first_request_s=10.0, keep_alive_s=600.0) as server:
        yield server


def fill(server: Flooded, sockets: ExitStack) -> list[ClientConnection]:
    """Open sockets until one is refused; the refusal says when to come back."""
    inside: list[ClientConnection] = []
    with pytest.raises(InvalidStatus) as refusal:
        _open_more(server, sockets, inside)
    assert refusal.value.response.status_code == 503
    assert refusal.value.response.headers["Retry-After"] == str(RETRY_AFTER_S)
    return inside


def _open_more(server: Flooded, sockets: ExitStack, inside: list[ClientConnection]) -> None:
    while len(inside) < DESCRIPTORS:
        inside.append(sockets.enter_context(server.connect("/echo")))


def works(client: ClientConnection) -> bool:
    client.send(b"abc")
    return client.recv(timeout=60) == "3"


def lets_in(server: Flooded) -> bool:
    try:
        with server.connect("/echo") as client:
            return works(client)
    except (WebSocketException, OSError):
        return False


def test_a_socket_too_many_gets_503_before_its_upgrade(server: Flooded) -> None:
    with ExitStack() as sockets:
        inside = fill(server, sockets)
        assert len(inside) > 4
        assert all(works(client) for client in inside)
        assert not lets_in(server)
        with server.dial() as asking:
            asking.sendall(b"GET /state HTTP/1.1\r\nHost: x\r\n\r\n")
            assert closed(asking).startswith(
                b"HTTP/1.1 503 "
            )  # and the connection's descriptor is free again
        for client in inside[:4]:
            client.close()
        wait_for(lambda: lets_in(server), 60)
        assert all(works(client) for client in inside[4:])
    assert "few are left, nobody new is let in" in server.said
    assert "there are enough again" in server.said


def test_connections_that_say_nothing_leave_those_inside_their_reserve(server: Flooded) -> None:
    with ExitStack() as sockets:
        needy = sockets.enter_context(server.connect("/files"))
        inside = fill(server, sockets)
        idle = [sockets.enter_context(server.dial()) for _ in range(2 * DESCRIPTORS)]
        assert all(works(client) for client in inside)
        needy.send(b"abc")
        assert needy.recv(timeout=60) == "6"
        for client in idle:  # turned away at once, or cut when their time was over
            closed(client)
        inside.pop().close()
        wait_for(lambda: lets_in(server), 60)
    assert "Traceback" not in server.said
