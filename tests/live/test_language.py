"""Who may choose the language is heard in it from the first telling words on, also after coming back."""

from __future__ import annotations

import asyncio

import pytest

from apps.interviews.models import Template, Utterance
from apps.interviews.selectors import answer_language
from inference.assessment import Language, Word
from inference.ports import Priority, Speech, Transcript
from tests.inference.sessions import engines
from tests.live.here import NearPage, Statements
from tests.live.stack import Person
from tests.live.wire import raw_frames, silence, speech

ZH = "我负责把队列改成了异步，结果延迟降低了百分之四十"
SPOKEN = speech(1.8) + silence(0.9)


class Listener:
    """Hears Chinese, whatever it is told; `told` keeps that."""

    def __init__(self) -> None:
        self.told: list[Language | None] = []

    async def start(self) -> None:
        pass

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        await asyncio.sleep(0)
        self.told.append(speech.language)
        return Transcript(ZH, "zh", (Word(ZH, 0.0, 1.5, 0.9),), 0.9)

    async def aclose(self) -> None:
        pass


def person_of(*, detect: bool) -> Person:
    person = Person(questions=2)
    Template.objects.filter(pk=person.interview.template_id).update(detect_language=detect)
    person.interview.template.refresh_from_db()
    return person


async def answered(page: NearPage, number: int) -> None:
    """Say it, up to the answer's end."""
    frames = raw_frames(SPOKEN, answer=number)
    for frame in frames:
        await page.send(frame)
    await page.say(type="end", answer=number, last_seq=len(frames) - 1)
    await page.until("committed")


async def interviewed(person: Person, listener: Listener, tickets: list[str]) -> list[list[Language | None]]:
    """Two answers, on one socket or on two: which language the recogniser was told for each."""
    told: list[list[Language | None]] = []
    for ticket in tickets:
        async with NearPage(person, engines(listener)) as page:
            await page.hello(ticket=ticket)
            for _ in range(2 // len(tickets)):
                await answered(page, len(told) + 1)
                told.append(list(dict.fromkeys(listener.told)))
                listener.told = []
    return told


@pytest.mark.parametrize("sockets", [1, 2])
@pytest.mark.parametrize(("detect", "told"), [(True, [[None], ["zh"]]), (False, [["en"], ["en"]])])
def test_the_language_of_the_first_answer_is_known_to_the_next(
    statements: Statements, sockets: int, detect: bool, told: list[list[Language | None]]
) -> None:
    person = person_of(detect=detect)
    tickets = [person.ticket() for _ in range(sockets)]
    assert asyncio.run(interviewed(person, Listener(), tickets)) == told
    kept = Utterance.objects.filter(turn__interview=person.interview)
    assert [(row.text, row.raw_text) for row in kept] == [(ZH + "。", ZH)] * 2
    flags = [score.flags for turn in person.interview.turns.all() for score in turn.scores.all()]
    assert ["wrong_language" in one for one in flags] == [not detect] * 2


def test_an_answer_is_judged_in_its_own_language_only_where_the_candidate_chooses(database: str) -> None:
    assert answer_language(person_of(detect=True).interview, ZH) == "zh"
    assert answer_language(person_of(detect=True).interview, "") == "en"
    assert answer_language(person_of(detect=False).interview, ZH) == "en"
