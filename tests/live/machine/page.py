"""The page as the protocol wants it: what it captured, what it lost, what it was promised."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from apps.live.frames import MIN_PCM_BYTES, encode_frame

Line = str | bytes


def pcm_of(answer: int, seq: int) -> bytes:
    """One frame's sound; no other has the same."""
    return (answer.to_bytes(2, "little") + seq.to_bytes(2, "little")) * (MIN_PCM_BYTES // 4)


def seqs_in(answer: int, pcm: bytes) -> list[int]:
    """Which frames a recording is made of, in its order."""
    seqs = []
    for at in range(0, len(pcm), MIN_PCM_BYTES):
        one = pcm[at : at + MIN_PCM_BYTES]
        seq = int.from_bytes(one[2:4], "little")
        assert one == pcm_of(answer, seq), f"answer {answer}: what lies at {at} is no frame of it"
        seqs.append(seq)
    return seqs


@dataclass
class Tape:
    """One answer. `made` frames were captured; `cursor` is what is sent next, up to `limit`."""

    number: int
    made: int = 0
    lost: set[int] = field(default_factory=set)
    sent: set[int] = field(default_factory=set)  # of the lost ones too, if they went out before
    told_lost: set[int] = field(default_factory=set)
    cursor: int = 0
    limit: int = -1
    acked: int = -1
    promised: int = -1  # highest ever: nothing up to here may be asked for again
    known: bool = False  # this connection has said where it goes on
    closed: bool = False
    ended: bool = False  # `end` went out
    committed: str = ""

    @property
    def pcm(self) -> bytes:
        return b"".join(pcm_of(self.number, seq) for seq in range(self.made) if seq not in self.lost)

    def goes_on(self, upto: int, window: int) -> None:
        assert upto < self.made, f"answer {self.number}: {upto} was never captured"
        if not self.known:
            self.known, self.cursor, self.ended = True, upto + 1, False
        if upto >= self.acked:
            self.acked, self.limit = upto, upto + window
        self.promised = max(self.promised, upto)
        self.cursor = max(self.cursor, upto + 1)

    def asked_again(self, seq: int) -> None:
        assert seq > self.promised, f"answer {self.number}: {seq} was acknowledged and is asked for again"
        self.cursor, self.ended = seq, False

    def next_line(self) -> Line | None:
        """What goes out next."""
        if not self.known or self.committed:
            return None
        if self.cursor in self.lost:
            return self._gap()
        if self.cursor < self.made:
            return self._frame() if self.cursor <= self.limit else None
        return self.last_word() if self.closed and not self.ended else None

    def last_word(self) -> str:
        self.ended = True
        sha256 = "" if self.lost else hashlib.sha256(self.pcm).hexdigest()
        return json.dumps({"type": "end", "answer": self.number, "last_seq": self.made - 1, "sha256": sha256})

    def _frame(self) -> bytes:
        seq, self.cursor = self.cursor, self.cursor + 1
        self.sent.add(seq)
        return encode_frame(pcm_of(self.number, seq), answer=self.number, seq=seq, capture_us=seq * 20_000)

    def _gap(self) -> str:
        first = self.cursor
        while self.cursor in self.lost:
            self.told_lost.add(self.cursor)
            self.cursor += 1
        return json.dumps(
            {"type": "gap", "answer": self.number, "from": first, "to": self.cursor, "why": "lost"}
        )


class Page:
    """`say` puts a line on the way to the server."""

    def __init__(self, say: Callable[[Line], None]) -> None:
        self.say = say
        self.tapes: dict[int, Tape] = {}
        self.open = 0  # the answer that the question on the table wants
        self.last_eid = 0
        self.resume = ""
        self.welcomed = self.finished = self.stale = False

    @property
    def tape(self) -> Tape | None:
        return self.tapes.get(self.open)

    def unfinished(self) -> Iterator[Tape]:
        return (tape for tape in self.tapes.values() if not tape.committed)

    def hello(self) -> dict[str, Any]:
        self.welcomed = self.stale = False
        for tape in self.tapes.values():
            tape.known = False
        return {"type": "hello", "answer": self.open, "events_from": self.last_eid}

    def restart(self) -> None:
        """The browser was killed: what lies on the device is there, what was only known is not."""
        self.last_eid, self.resume, self.welcomed = 0, "", False
        for tape in self.tapes.values():
            tape.known, tape.acked, tape.limit, tape.ended = False, -1, -1, False

    def record(self, frames: int) -> None:
        if self.tape is not None and not self.tape.closed:
            self.tape.made += frames

    def lose(self, tape: Tape, first: int, frames: int) -> None:
        """Frames that were not promised to be safe are gone from the device."""
        begin = max(first, tape.promised + 1)
        tape.lost |= set(range(begin, min(begin + frames, tape.made)))

    def send(self, lines: int) -> None:
        for tape in self.tapes.values():
            while self.welcomed and lines and (line := tape.next_line()) is not None:
                self.say(line)
                lines -= 1

    def press(self, kind: str, **fields: Any) -> None:
        if self.tape is not None and self.welcomed:
            self.say(json.dumps({"type": kind, "answer": self.open, **fields}))

    def hears(self, line: str) -> None:
        message = json.loads(line)
        kind = message["type"]
        if message.get("eid"):
            self._event(message)
        elif kind == "welcome":
            self._welcome(message)
        elif kind == "ack":
            self._tape(message["answer"]).goes_on(message["upto"], message["window"])
        elif kind == "nack":
            self._tape(message["answer"]).asked_again(message["from"])
        elif kind == "committed":
            self._committed(self._tape(message["answer"]), message["sha256"])
        elif kind == "reload":
            raise AssertionError("the server knows less than it has told")

    def _tape(self, number: int) -> Tape:
        return self.tapes.setdefault(number, Tape(number))

    def _welcome(self, welcome: dict[str, Any]) -> None:
        self.welcomed, self.resume = True, welcome["resume_token"]
        named = [late["answer"] for late in welcome["late"]]
        for late in welcome["late"]:
            self._begins(late["answer"], late["next"], late["window"])
            self._tape(late["answer"]).closed = True
        if welcome["answer"]:
            self._begins(welcome["answer"], welcome["next"], welcome["window"])
        self.finished = welcome["snapshot"]["status"] == "finished"
        for tape in self.unfinished():  # what the welcome does not name is asked for
            if tape.number != welcome["answer"] and tape.number not in named:
                tape.closed = True
                self.say(tape.last_word())

    def _begins(self, number: int, seq: int, window: int) -> None:
        tape = self._tape(number)
        assert seq > tape.promised, f"answer {number}: {tape.promised} was promised, {seq} is wanted"
        tape.known, tape.acked = False, -1
        tape.goes_on(seq - 1, window)

    def _committed(self, tape: Tape, sha256: str) -> None:
        result = sha256 or "no audio"
        assert tape.committed in {"", result}, f"answer {tape.number} has two results"
        tape.committed, tape.closed = result, True

    def _event(self, event: dict[str, Any]) -> None:
        if event["eid"] <= self.last_eid:
            return
        if event["eid"] > self.last_eid + 1:
            self.stale = True  # one is missing: the next hello asks for it
            return
        self.last_eid = event["eid"]
        if event["type"] == "answer.opened":
            self._opened(event["turn"])
        elif event["type"] == "turn.ended":
            self._ended(event["turn"])
        elif event["type"] == "session.ended":
            self.finished = True

    def _opened(self, number: int) -> None:
        for tape in self.tapes.values():
            tape.closed |= tape.number < number
        tape = self._tape(number)
        if not tape.known and self.welcomed:
            tape.known, tape.limit = True, max(tape.limit, 5)
        self.open = max(self.open, number)

    def _ended(self, number: int) -> None:
        self._tape(number).closed = True
