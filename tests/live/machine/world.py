"""What may happen to a page, a link and a server, in any order, and what must hold all the same."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from apps.interviews.models import Interview
from apps.live.spool_scan import scanned
from tests.live.machine.page import Line, Page, seqs_in
from tests.live.machine.server import Server
from tests.live.machine.standing import examine, pcm_in, taken_back

_MEMORY = Path("/dev/shm")  # noqa: S108 - a private folder is made in it
FAST = _MEMORY if os.access(_MEMORY, os.W_OK) else None
POINTS = (
    "before write",
    "after write",
    "after sync",
    "before ack",
    "after ack",
    "before audio_keep",  # from here on: at the end
    "after audio_keep",
    "before verdict_record",
    "after verdict_record",
    "before late_audio_record",
    "after late_audio_record",
    "before committed",
    "after committed",
    "before remove",
    "after remove",
    "before turn_open",  # and at the beginning
    "after turn_open",
    "after event_append",
    "after typed_answer_keep",
)
HEALED_WITHIN = 120
ENOUGH_FRAMES = 8  # for a turn to be full, as server.py has it
GIVEN_UP_S = 4.0  # more than the server waits for the rest of a turn that it ended
COUNTS = st.integers(1, 4)
FEW = st.integers(0, 3)
TORN = st.one_of(st.just(0), st.integers(0, 5_000))


class World(RuleBasedStateMachine):
    """`interview` is the same row in each run; what a run does to it is taken back."""

    interview: Interview
    made = 0

    def __init__(self) -> None:
        super().__init__()
        World.made += 1
        self._closing = ExitStack()
        self._closing.enter_context(taken_back())
        folder = Path(tempfile.mkdtemp(prefix="viva-machine-", dir=FAST))
        self._closing.callback(shutil.rmtree, folder, ignore_errors=True)
        self.server = Server(self.interview, folder)
        self._closing.enter_context(self.server.running())
        self._closing.callback(self.server.close)
        self.torn = 0
        self.up: deque[Line] = deque()  # on their way to the server
        self.page = Page(self.up.append)

    @initialize()
    def begins(self) -> None:
        self._connect()
        self._deliver(99)

    @rule(frames=COUNTS)
    def page_records(self, frames: int) -> None:
        self.page.record(frames)

    @rule(lines=COUNTS)
    def page_sends(self, lines: int) -> None:
        self.page.send(lines)

    @precondition(lambda self: self.page.tape is not None and not self.page.tape.closed)
    @rule()
    def page_is_done(self) -> None:
        if self.page.tape is not None:
            self.page.tape.closed = True

    @rule(back=st.integers(0, 5), frames=COUNTS)
    def page_loses(self, back: int, frames: int) -> None:
        for tape in self.page.unfinished():
            self.page.lose(tape, tape.made - back, frames)

    @rule(kind=st.sampled_from(("skip", "text_answer", "finish", "end")))
    def page_presses(self, kind: str) -> None:
        if kind == "end" and self.page.tape is not None:
            self.page.tape.closed = True
        else:
            self.page.press(kind, **({"text": "It was written down."} if kind == "text_answer" else {}))

    @rule()
    def browser_restarts(self) -> None:
        self._cut()
        self.page.restart()

    @rule(lines=st.integers(1, 8))
    def link_delivers(self, lines: int) -> None:
        self._return()
        self._deliver(lines)

    @rule(upwards=st.booleans(), at=FEW)
    def link_drops(self, upwards: bool, at: int) -> None:
        line = self._busy(upwards)
        if at < len(line):
            del line[at]

    @rule(upwards=st.booleans(), at=FEW)
    def link_says_twice(self, upwards: bool, at: int) -> None:
        line = self._busy(upwards)
        if at < len(line):
            line.append(line[at])

    @rule(upwards=st.booleans(), at=FEW)
    def link_reorders(self, upwards: bool, at: int) -> None:
        line = self._busy(upwards)
        if at < len(line):
            one = line[at]
            del line[at]
            line.append(one)

    @rule(arrives=FEW)
    def link_is_cut(self, arrives: int) -> None:
        self._deliver(arrives)
        self._cut()

    @precondition(lambda self: not self.page.welcomed or self.page.stale)
    @rule()
    def page_comes_back(self) -> None:
        self._connect()

    @rule()
    def spools_are_synced(self) -> None:
        self.server.sync()

    @rule(seconds=st.sampled_from((0.5, 4.0, 16.0)))
    def time_passes(self, seconds: float) -> None:
        self.server.tick()
        self.server.advance(seconds)

    @rule(frames=COUNTS, rounds=st.integers(1, 3))
    def all_goes_well(self, frames: int, rounds: int) -> None:
        self._return()
        for _ in range(rounds):
            self.page.record(frames)
            self._work()

    @rule(more=COUNTS, die=st.booleans(), torn=TORN)
    def turn_is_closed_before_the_page_knows(self, more: int, die: bool, torn: int) -> None:
        """It is full; the page, not yet told, goes on recording: what it adds can only come late."""
        self._return()
        self.page.record(ENOUGH_FRAMES)
        for _ in range(4):
            self.page.send(20)
            while self.up:
                self.server.takes(self.up.popleft())
            self.server.sync()
            self._hear_until('"turn.ended"')
        self.page.record(more)
        self.server.tick()
        self.server.advance(GIVEN_UP_S)
        if die:
            self.server.die()
            self._start_again(torn)

    @rule(point=st.sampled_from(POINTS), times=st.integers(1, 3), torn=TORN)
    def death_waits(self, point: str, times: int, torn: int) -> None:
        self.server.disk.arm(point, times)
        self.torn = torn

    @rule(torn=TORN)
    def server_dies(self, torn: int) -> None:
        self.server.die()
        self._start_again(torn)

    @precondition(lambda self: not self.page.welcomed)
    @rule()
    def interview_expires(self) -> None:
        self._cut()
        if not self.server.disk.dead:
            self.server.expire()

    @invariant()
    def what_was_promised_is_on_the_disk(self) -> None:
        if self.server.disk.dead:
            return
        for tape in self.page.tapes.values():
            spool = self.server.spools / f"{tape.number:04d}.spool"
            if spool.exists():
                scan = scanned(self.server.disk.synced(spool), tape.number)
                assert len(scan.crcs) > tape.promised, f"answer {tape.number}: {tape.promised} was promised"
                told = {seq for run in scan.lost for seq in range(run.seq, run.to)}
                assert told <= tape.told_lost, "a gap that the page did not tell"
            elif tape.promised >= 0:
                wav = self.server.wav(tape.number)  # none where nothing but holes was promised
                seqs = seqs_in(tape.number, pcm_in(wav) if wav.exists() else b"")
                assert not set(range(tape.promised + 1)) - set(seqs) - tape.told_lost

    def teardown(self) -> None:
        try:
            self._heal()
            examine(self.interview, self.server, self.page)
        finally:
            self._closing.close()

    def _busy(self, upwards: bool) -> deque[Any]:
        """One way of the link, with something on it."""
        self._return()
        self.page.record(2)
        self.page.send(4)
        return self.up if upwards else self.server.down

    def _return(self) -> None:
        """A page without a socket comes back."""
        if self.server.disk.dead or not self.page.welcomed:
            self._connect()
            self._deliver(1)

    def _deliver(self, lines: int) -> None:
        for _ in range(lines):
            if self.up:
                self.server.takes(self.up.popleft())
            if self.server.down:
                self.page.hears(self.server.down.popleft())

    def _hear_until(self, word: str) -> None:
        while self.server.down and word not in self.server.down[0]:
            self.page.hears(self.server.down.popleft())

    def _cut(self) -> None:
        self.server.cut()
        self.up.clear()
        self.server.down.clear()
        self.page.welcomed = False

    def _connect(self) -> None:
        self._cut()
        if self.server.disk.dead:
            self._start_again(self.torn)
        self.server.connect(self.page.hello(), self.page.resume)

    def _start_again(self, torn: int) -> None:
        self.server.start_again(torn)
        self._cut()

    def _work(self) -> None:
        """What a page, a link and a server do when nobody hinders them."""
        self._deliver(200)
        self.page.send(50)
        self._deliver(200)
        self.server.sync()
        self.server.tick()
        self.server.advance(0.5)
        self._deliver(200)

    def _heal(self) -> None:
        """The link is good, at most one death still waits: within bounds everything is handed in."""
        self._connect()
        for turn in range(HEALED_WITHIN):
            if self._over():
                break
            if self.page.tape is not None and not self.page.tape.committed:
                self.page.record(int(self.page.tape.made == 0))
                self.page.tape.closed = True
            self._work()
            if turn % 10 == 9 or not self.server.connected or self.page.stale:  # no ACK for long
                self._connect()
        assert self._over(), f"not handed in: {self.page.tapes}"
        if self.server.spools.exists():
            self._connect()  # what outlived its answer goes now
        self._cut()

    def _over(self) -> bool:
        return self.page.finished and not list(self.page.unfinished())
