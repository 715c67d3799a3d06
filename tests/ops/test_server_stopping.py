"""SIGTERM: nobody new, a close frame for every socket, an answer for every request, an end in any case."""

from __future__ import annotations

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from apps.ops.daphne_connections import QUEUED_MESSAGES
from tests.ops.flooded import WITHIN_S, Flooded, closed
from tests.ops.site import accepts, wait_for

STUCK_S = 4.0  # how long a stuck server may live on in these tests


def told_to_stop(server: Flooded, number: int = signal.SIGTERM) -> None:
    os.kill(server.process.pid, number)


def close_code(client: ClientConnection) -> int | None:
    with pytest.raises(ConnectionClosed) as ended:
        client.recv(timeout=WITHIN_S)
    return ended.value.rcvd.code if ended.value.rcvd else None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_every_socket_gets_1012_and_the_process_ends_well(tmp_path: Path, number: int) -> None:
    with Flooded(tmp_path) as server, server.connect("/echo") as one, server.connect("/stalled") as other:
        told_to_stop(server, number)
        assert [close_code(one), close_code(other)] == [1012, 1012]
        assert server.process.wait(WITHIN_S) == 0
        assert "a stalled application was cancelled" in server.said  # and not left where it stood


def test_messages_that_nobody_took_do_not_keep_a_socket_from_closing(tmp_path: Path) -> None:
    # Were the page's answer to the close frame left unread behind them, the server would wait for it.
    with Flooded(tmp_path, closing_s=1_000.0, exit_s=40.0) as server, server.connect("/stalled") as client:
        for _ in range(1_000):
            client.send(bytes(100))
        wait_for(lambda: server.queued() == QUEUED_MESSAGES, 60)
        told_to_stop(server)
        assert close_code(client) == 1012
        assert server.process.wait(WITHIN_S) == 0


def test_a_request_is_answered_while_nobody_new_is_let_in(tmp_path: Path) -> None:
    with Flooded(tmp_path) as server, ThreadPoolExecutor() as threads, server.dial() as kept:
        kept.sendall(b"POST /count HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
        wait_for(lambda: kept.recv(4096).endswith(b"3"), 60)
        answer = threads.submit(server.get, "/long")
        wait_for(lambda: server.events("request:long") == 1, 60)
        told_to_stop(server)
        wait_for(lambda: not accepts(server.port), 60)
        kept.sendall(b"GET /state HTTP/1.1\r\nHost: x\r\n\r\n")
        assert closed(kept).startswith(b"HTTP/1.1 503 ")
        assert answer.result(WITHIN_S) == "late"
        assert server.process.wait(WITHIN_S) == 0


def test_a_receiver_that_never_ends_does_not_keep_the_server(tmp_path: Path) -> None:
    with Flooded(tmp_path, drain_s=1.0) as server, server.connect("/echo") as client:
        server.get("/never-stop")
        told_to_stop(server)
        assert close_code(client) == 1012
        assert server.process.wait(WITHIN_S) == 0
        assert "steps of stopping still ran" in server.said


def test_a_client_that_does_not_answer_the_close_does_not_keep_it_either(tmp_path: Path) -> None:
    with Flooded(tmp_path, closing_s=1.0) as server, server.upgraded("/echo"):
        told_to_stop(server)
        assert server.process.wait(WITHIN_S) == 0


def test_a_blocked_event_loop_is_left_with_a_last_word(tmp_path: Path) -> None:
    with Flooded(tmp_path, exit_s=STUCK_S) as server, server.dial() as client:
        client.sendall(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
        wait_for(lambda: stuck(server), 60)
        told_to_stop(server)
        assert server.process.wait(WITHIN_S) == 1
        assert "something still hangs" in server.said


def test_a_process_that_runs_no_python_any_more_is_ended_by_the_kernel(tmp_path: Path) -> None:
    with Flooded(tmp_path, exit_s=STUCK_S) as server:
        server.get("/deaf")
        told_to_stop(server)
        assert server.process.wait(WITHIN_S) == -signal.SIGALRM


def stuck(server: Flooded) -> bool:
    """Whether the server takes connections but answers none of them any more."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(0.5)
        client.sendall(b"GET /state HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            return not client.recv(1)
        except TimeoutError:
            return True
