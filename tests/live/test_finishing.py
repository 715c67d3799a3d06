"""The candidate ends the interview at an awkward moment: it ends all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from apps.live import conductor, opening
from apps.live.course import Step
from apps.live.recorder import Place
from apps.live.spool import Spool
from apps.ops.models import Job
from inference import events as ev
from inference.adapters.fakes import Loudness, ScriptedRecognizer
from inference.hearing import Ears
from inference.ports import Engines
from tests.live.here import NearPage, Statements
from tests.live.stack import ANSWER, Page, Person, Server
from tests.live.wire import raw_frames, silence, speech

SPOKEN = speech(1.5) + silence(0.5)


def test_finishing_between_two_questions_is_not_forgotten(
    statements: Statements, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(questions=3)
    ticket, begin, finish = person.ticket(), opening.turn_begun, conductor.Conductor._finish

    async def finished_while_the_second_opens() -> None:
        opening, finished = asyncio.Event(), asyncio.Event()

        async def held(place: Place, step: Step) -> tuple[Spool, Sequence[ev.Event]]:
            if step.number == 2:
                opening.set()
                await finished.wait()
            return await begin(place, step)

        def told(self: conductor.Conductor) -> None:
            finish(self)
            finished.set()

        monkeypatch.setattr(conductor, "turn_begun", held)
        monkeypatch.setattr(conductor.Conductor, "_finish", told)
        async with NearPage(person) as page:
            await page.hello(ticket=ticket)
            await page.until("answer.opened")
            await page.say(type="skip", answer=1)
            await opening.wait()
            await page.say(type="finish")
            await page.until("session.ended")

    asyncio.run(finished_while_the_second_opens())
    turns = [(turn.status, turn.end_reason) for turn in person.interview.turns.all()]
    assert turns == [("skipped", "skipped"), ("skipped", "finished")]


def test_finishing_right_behind_the_first_words_waits_until_they_are_heard(statements: Statements) -> None:
    person = Person(questions=3)
    ticket = person.ticket()

    async def finished_at_once() -> None:
        ears = Ears(Loudness(), tick_s=0.05)
        engines = Engines(ears, ScriptedRecognizer(ANSWER), None)
        async with NearPage(person, engines) as page:
            await page.hello(ticket=ticket)
            await page.until("answer.opened")
            for frame in raw_frames(SPOKEN):
                await page.send(frame)
            await page.say(type="finish")
            await page.say(type="end", answer=1, last_seq=len(raw_frames(SPOKEN)) - 1)
            await page.until("session.ended")
        await ears.aclose()

    asyncio.run(finished_at_once())
    [turn] = person.interview.turns.all()
    assert (turn.status, turn.transcript) == ("answered", ANSWER)


def test_a_question_cut_short_by_finishing_is_told_from_a_skipped_one(server: Server) -> None:
    person = Person(questions=3)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened", turn=1)
        page.say(type="skip", answer=1)
        page.until("answer.opened", turn=2)
        page.say(type="finish")
        page.until("session.ended")
    ends = [(turn.status, turn.end_reason) for turn in person.interview.turns.all()]
    assert ends == [("skipped", "skipped"), ("skipped", "finished")]


def test_finishing_early_keeps_what_was_said_and_orders_the_analysis(server: Server) -> None:
    person = Person(questions=5)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
        page.stream(SPOKEN)
        page.until("speech.started")
        page.say(type="finish")
        page.until("turn.ended")
        page.end(SPOKEN)
        assert page.until("session.ended")["reason"] == "completed"
    assert [(t.number, t.status) for t in person.interview.turns.all()] == [(1, "answered")]
    assert Job.objects.filter(subject_id=person.interview.pk).count() == 1


def test_finishing_waits_for_what_was_said_out_of_reach(server: Server) -> None:
    person = Person(questions=3)
    with Page(server, person) as page:
        page.hello()
        page.until("answer.opened")
    with Page(server, person) as page:
        page.hello(answer=1, have_from=0, have_to=20)
        page.say(type="finish")
        page.stream(SPOKEN)
        page.until("turn.ended", reason="done")
        page.end(SPOKEN)
        page.until("session.ended")
    [turn] = person.interview.turns.all()
    assert (turn.status, turn.audio_complete, turn.scores.count()) == ("answered", True, 1)


def test_finishing_twice_while_silence_ends_the_turn_gives_one_report(server: Server) -> None:
    person = Person(questions=2)
    with Page(server, person) as page, Page(server, person) as other:
        page.hello()
        page.until("answer.opened")
        page.stream(speech(1.0) + silence(3.0))  # the server ends the turn by itself
        for _ in range(2):
            page.say(type="finish")
        page.end(speech(1.0) + silence(3.0))
        page.until("session.ended")
        other.hello()
        other.say(type="finish")
        assert other.until("session.ended")["reason"] == "completed"
    [turn] = person.interview.turns.all()
    assert (turn.status, turn.scores.count()) == ("answered", 1)
    assert person.interview.events.filter(type="session.ended").count() == 1
    assert Job.objects.filter(subject_id=person.interview.pk, kind="analyse_interview").count() == 1
