"""Plain messages go past autobahn's machinery: a socket must not be able to tell, whatever comes how."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from apps.ops.daphne_connections import QUEUED_MESSAGES, BoundedProtocol
from apps.ops.daphne_frames import plain_binary, text_frame
from apps.ops.daphne_server import MESSAGE_BYTES
from tests.ops.scripted_wire import opened_socket

CONTINUED, TEXT, BINARY, CLOSE, PING = 0, 1, 2, 8, 9
SHORTEST, IN_7, IN_16, IN_64 = -1, 0, 2, 8  # how many more bytes a length takes
MASK = b"\x5a\x01\xfe\x80"


class ByAutobahn(BoundedProtocol):
    """Takes nothing past autobahn, either way."""

    @property
    def _between_messages(self) -> bool:
        return False

    def serverSend(self, content: str | bytes, binary: bool = False) -> None:  # noqa: N802 - Daphne's name
        super(BoundedProtocol, self).serverSend(content, binary)


def frame(
    payload: bytes,
    opcode: int = BINARY,
    *,
    last: bool = True,
    reserved: int = 0,
    mask: bytes = MASK,
    length_in: int = SHORTEST,
) -> bytes:
    """A client's frame; an empty mask is none."""
    length = len(payload)
    if length_in == SHORTEST:
        length_in = IN_7 if length < 126 else IN_16 if length < 1 << 16 else IN_64
    code = {IN_7: length, IN_16: 126, IN_64: 127}[length_in]
    head = bytes(((0x80 if last else 0) | reserved << 4 | opcode, (0x80 if mask else 0) | code))
    repeated = mask * (length // 4 + 1) if mask else bytes(length)
    hidden = bytes(a ^ b for a, b in zip(payload, repeated, strict=False))
    return head + (length.to_bytes(length_in) if length_in else b"") + mask + hidden


def some_bytes(length: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(length)  # noqa: S311


class Socket:
    """A socket whose application takes each message as soon as it may."""

    def __init__(self, kind: type[BoundedProtocol]) -> None:
        self.protocol, self.wire = opened_socket(kind)
        self.protocol.maxMessagePayloadSize = self.protocol.maxFramePayloadSize = MESSAGE_BYTES
        self.greeted = len(self.wire.value())
        self.taken: list[bytes | str] = []
        assert self.protocol.application_queue.get_nowait()["type"] == "websocket.connect"

    def feed(self, pieces: Sequence[bytes]) -> Socket:
        for piece in pieces:
            self.protocol.dataReceived(piece)
            self._take()
        return self

    @property
    def seen(self) -> tuple[list[bytes | str], bytes, int, bool]:
        """All that either side can see of it."""
        protocol = self.protocol
        return self.taken, self.wire.value()[self.greeted :], protocol.state, self.wire.disconnecting

    def _take(self) -> None:
        queue = self.protocol.application_queue
        while self.wire.reactor.waiting or not queue.empty():
            while not queue.empty():
                message = queue.get_nowait()
                self.taken.append(message.get("bytes", message.get("text", "gone")))
                self.protocol.message_taken()
            self.wire.reactor.go_round()


def told_apart(pieces: Sequence[bytes]) -> Socket:
    """The socket after those reads; fails when autobahn alone would have made something else of them."""
    ours = Socket(BoundedProtocol).feed(pieces)
    assert ours.seen == Socket(ByAutobahn).feed(pieces).seen
    return ours


LENGTHS = (0, 1, 125, 126, 127, 3_232, 65_535, 65_536, 70_000, MESSAGE_BYTES)
FRAGMENTED = frame(b"a", last=False) + frame(b"", PING) + frame(b"b", CONTINUED)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_message_of_any_length_arrives_as_it_was_sent(length: int) -> None:
    assert told_apart([frame(some_bytes(length))]).taken == [some_bytes(length)]


@pytest.mark.parametrize("length", [0, 1, 125, 126, 3_232])
def test_a_message_may_come_byte_by_byte(length: int) -> None:
    sent = frame(some_bytes(length)) + frame(b"after")
    assert told_apart([bytes((byte,)) for byte in sent]).taken == [some_bytes(length), b"after"]


def test_nothing_of_a_message_is_told_before_it_is_whole() -> None:
    socket = Socket(BoundedProtocol)
    sent = frame(some_bytes(200))
    for byte in sent[:-1]:
        assert socket.feed([bytes((byte,))]).taken == []
    assert socket.feed([sent[-1:]]).taken == [some_bytes(200)]


def test_several_messages_in_one_read_arrive_in_order() -> None:
    payloads = [some_bytes(number * 7, number) for number in range(60)]
    assert told_apart([b"".join(map(frame, payloads))]).taken == payloads


def test_fragments_text_and_pings_between_plain_messages_keep_their_places() -> None:
    sent = [frame(b"1"), FRAGMENTED, frame(b"2"), frame(b"", PING), frame(b"drei", TEXT), frame(b"4")]
    assert told_apart([b"".join(sent)]).taken == [b"1", b"ab", b"2", "drei", b"4"]


def test_what_a_ping_carries_is_no_message() -> None:
    ping = frame(frame(b"not a message"), PING, mask=bytes(4))
    assert told_apart([ping[:6], ping[6:], frame(b"after")]).taken == [b"after"]


WRONG = {
    "unmasked": frame(some_bytes(200), mask=b""),
    "a reserved bit": frame(some_bytes(200), reserved=4),
    "a length of 7 bits in 16": frame(some_bytes(125), length_in=IN_16),
    "a length of 7 bits in 64": frame(some_bytes(125), length_in=IN_64),
    "a length of 16 bits in 64": frame(some_bytes(3_232), length_in=IN_64),
    "more than a message may have": frame(bytes(MESSAGE_BYTES + 1)),
    "a length that cannot be true": bytes((0x82, 0xFF)) + (1 << 62).to_bytes(8) + MASK + some_bytes(1 << 15),
    "a whole message inside another": frame(b"a", last=False) + frame(some_bytes(200)),
    "an opcode that does not exist": frame(some_bytes(200), opcode=3),
    "a continuation of nothing": frame(some_bytes(200), opcode=CONTINUED),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_what_is_forbidden_ends_the_socket_and_nothing_behind_it_is_heard(wrong: bytes) -> None:
    socket = told_apart([frame(b"before") + wrong + frame(b"behind"), frame(b"later")])
    assert socket.taken[0] == b"before"
    assert not {b"behind", b"later"} & set(socket.taken)
    assert socket.protocol.state != BoundedProtocol.STATE_OPEN


def test_a_close_frame_is_answered_and_nothing_behind_it_is_heard() -> None:
    sent = frame(b"before") + frame((1000).to_bytes(2), CLOSE) + frame(b"behind")
    socket = told_apart([sent])
    assert b"behind" not in socket.taken
    assert b"\x88\x02\x03\xe8" in socket.wire.value()


def test_a_socket_that_we_close_hears_no_more_and_reads_on_to_the_answer() -> None:
    seen = []
    for kind in (BoundedProtocol, ByAutobahn):
        socket = Socket(kind).feed([frame(b"before")])
        socket.protocol.serverClose(4000)
        seen.append(socket.feed([frame(b"behind") + frame((4000).to_bytes(2), CLOSE)]).seen)
    assert seen[0] == seen[1]
    assert b"behind" not in seen[0][0]


@pytest.mark.parametrize("seed", range(12))
def test_however_a_stream_is_cut_it_is_the_same_stream(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    kinds = [
        lambda: frame(chance.randbytes(chance.choice(LENGTHS[:7])), mask=chance.randbytes(4)),
        lambda: frame(b"text \xc3\xa9", TEXT),
        lambda: frame(b"ping", PING),
        lambda: FRAGMENTED,
    ]
    sent = b"".join(chance.choices(kinds, weights=[6, 1, 1, 1])[0]() for _ in range(40))
    cuts = [0, *sorted(chance.sample(range(len(sent)), 60)), len(sent)]
    told_apart([sent[begin:end] for begin, end in pairwise(cuts)])


def test_as_many_messages_as_may_wait_are_taken_and_the_rest_stays_unread() -> None:
    socket = Socket(BoundedProtocol)
    protocol, wire = socket.protocol, socket.wire
    protocol.dataReceived(b"".join(frame(bytes((number,))) for number in range(QUEUED_MESSAGES + 6)))
    while wire.reactor.waiting:
        wire.reactor.go_round()
    assert protocol.application_queue.qsize() == QUEUED_MESSAGES
    assert wire.producerState == "paused"
    taken = []
    for _ in range(QUEUED_MESSAGES + 6):
        taken.append(protocol.application_queue.get_nowait()["bytes"][0])
        protocol.message_taken()
        wire.reactor.go_round()
    assert taken == list(range(QUEUED_MESSAGES + 6))
    assert wire.producerState == "producing"


def test_while_a_pong_is_awaited_a_plain_message_counts_as_a_sign_of_life() -> None:
    ours: list[bool] = []
    for kind in (BoundedProtocol, ByAutobahn):
        socket = Socket(kind)
        socket.protocol.autoPingTimeout = 3_600.0
        socket.protocol._sendAutoPing()
        assert socket.protocol.autoPingTimeoutCall is not None
        assert socket.feed([frame(some_bytes(200))]).taken == [some_bytes(200)]
        ours.append(socket.protocol.autoPingTimeoutCall is None)
    assert ours == [True, True]


def test_a_header_in_pieces_is_no_message_yet() -> None:
    whole = frame(some_bytes(126))
    assert [plain_binary(whole[:have]) is None for have in (2, 5, 6, 7)] == [True] * 4
    found = plain_binary(whole[:8])
    assert found is not None
    assert (found.begin, found.end) == (8, len(whole))


@pytest.mark.parametrize("length", [0, 123, 124, 65_533, 65_534])  # and two bytes more
def test_a_text_goes_down_as_autobahn_would_send_it(length: int) -> None:
    sent = []
    for kind in (BoundedProtocol, ByAutobahn):
        socket = Socket(kind)
        socket.protocol.serverSend("ä" + "x" * length)
        sent.append(socket.wire.value()[socket.greeted :])
    assert sent[0] == sent[1]


def test_a_text_waits_behind_what_autobahn_has_yet_to_send() -> None:
    protocol, wire = opened_socket()
    before = len(wire.value())
    protocol.send_queue.append((b"first", False))
    protocol.triggered = True  # as while autobahn waits for its own turn of the loop
    protocol.say("second")
    assert wire.value()[before:] == b""
    while protocol.send_queue:
        protocol._send()
    assert wire.value()[before:] == b"first" + text_frame(b"second")


def test_nothing_is_said_on_a_socket_that_closes_or_is_closed() -> None:
    closing, closing_wire = opened_socket()
    closing.serverClose(4000)
    left, left_wire = opened_socket()
    left.dataReceived(frame((1000).to_bytes(2), CLOSE))
    for protocol, wire in ((closing, closing_wire), (left, left_wire)):
        before = wire.value()
        protocol.say("too late")
        protocol.serverSend("by a consumer that does not know yet")
        assert wire.value() == before
