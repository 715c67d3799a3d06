"""One answer without a socket: what a rebuilt one hears, how long the rest is waited for, what is late."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from apps.interviews.models import Interview, Turn
from apps.interviews.selectors import AskedTurn, PlannedQuestion
from apps.interviews.services.seats import InterviewGone, Seat
from apps.live.answer import AnswerSetting, LiveAnswer
from apps.live.closing import recorded, recording_kept
from apps.live.course import Step
from apps.live.late import LateAnswers
from apps.live.messages import Ack, End, Gap, Nack
from apps.live.opening import forget_kept, spool_found
from apps.live.outbox import Outgoing
from apps.live.recorder import Kept, Place
from apps.live.spool import Recording, Spool, open_spool
from apps.live.spool_sync import SpoolSync
from inference import events as ev
from inference.adapters.fakes import LoudnessDetector, ScriptedRecognizer
from inference.brief import AnswerOutcome
from inference.observe import ignore
from inference.ports import Engines
from tests.live.here import Statements, database_threads
from tests.live.stack import ANSWER, WITHIN_S, Person
from tests.live.wire import frames, silence, speech

T = TypeVar("T")
QUESTION = PlannedQuestion(1, "Tell me about a hard problem.", "behavioural", 180.0)
STEP = Step(number=1, question=QUESTION, kind="main", text=QUESTION.text, place=1, total=1)


class Bench:
    """An answer with everything that it says."""

    def __init__(self, spool: Spool, past: Sequence[ev.Event] = (), *, follow_ups: bool = False) -> None:
        self.told: list[Outgoing] = []
        self.logged: list[ev.Event] = []
        engines = Engines(LoudnessDetector(), ScriptedRecognizer(ANSWER), None)
        setting = AnswerSetting(engines, "en", follow_ups=follow_ups, observe=ignore)
        self.answer = LiveAnswer(STEP, spool, setting, self.told.append, self.logged.append, past)

    async def outcome(self) -> AnswerOutcome:
        self.answer.restore("")
        return await self.answer.run()


@pytest.fixture
def rows_here(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What this process does in threads goes to the test's database too."""
    with database_threads(monkeypatch, Statements()):
        yield


def run(work: Coroutine[None, None, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, WITHIN_S))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    opened = open_spool(tmp_path / "spool", 1)
    yield opened
    opened.close()


def fill(spool: Spool, pcm: bytes) -> None:
    for frame in frames(pcm, first_seq=spool.next):
        spool.append(frame)
    spool.flush()


def ended(at_s: float) -> ev.TurnEnded:
    return ev.TurnEnded(turn=1, reason="time_limit", at_s=at_s, speech_end_s=at_s)


def test_an_ended_turn_is_heard_to_its_end_and_not_beyond(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.live.answer.END_WITHIN_S", 0.1)
    fill(spool, speech(1.0) + silence(1.0) + speech(1.0))

    async def rebuilt() -> AnswerOutcome:
        return await Bench(spool, [ended(at_s=1.5)]).outcome()

    outcome = run(rebuilt())
    assert [heard.end_s < 1.5 for heard in outcome.utterances] == [True]
    assert (outcome.transcript, outcome.end_reason) == (ANSWER, "time_limit")


def test_a_hole_behind_the_end_of_a_rebuilt_turn_is_told_once(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.live.answer.END_WITHIN_S", 0.1)
    fill(spool, speech(1.0) + silence(1.0))
    spool.gap(20, 25, 100, "lost")
    fill(spool, silence(0.1))
    told = ev.AudioMissing(turn=1, at_s=2.0, seconds=0.5, why="lost")

    async def missing_told(*past: ev.Event) -> list[ev.Event]:
        bench = Bench(spool, past)
        await bench.outcome()
        return [event for event in bench.logged if isinstance(event, ev.AudioMissing)]

    assert run(missing_told(ended(at_s=1.5))) == [told]
    assert run(missing_told(ended(at_s=1.5), told)) == []


def final(number: int, start_s: float, end_s: float) -> ev.TranscriptFinal:
    return ev.TranscriptFinal(
        turn=1, utterance=number, text=ANSWER, words=(), start_s=start_s, end_s=end_s, confidence=0.9
    )


def test_words_that_are_final_are_not_heard_again_when_the_spool_had_to_be_begun_anew(spool: Spool) -> None:
    said = speech(1.0) + silence(1.0) + speech(1.0)
    told = ev.AudioMissing(turn=1, at_s=0.5, seconds=0.3, why="lost")

    async def uploaded_again() -> tuple[AnswerOutcome, list[ev.Event]]:
        bench = Bench(spool, [told, final(1, 0.0, 1.5)])
        bench.answer.restore("")
        running = asyncio.create_task(bench.answer.run())
        sent = frames(said, first_seq=0)
        for frame in sent[:5]:
            bench.answer.take(frame)
        bench.answer.take_gap(gap(5, 8))
        for frame in frames(said[16_000:], first_seq=8):
            bench.answer.take(frame)
        bench.answer.end(End(type="end", answer=1, last_seq=len(sent) + 2))
        return await running, bench.logged

    outcome, logged = run(uploaded_again())
    assert [heard.number for heard in outcome.utterances] == [1, 2]
    assert outcome.utterances[1].start_s >= 1.5
    assert outcome.transcript == f"{ANSWER} {ANSWER}"
    assert [event for event in logged if isinstance(event, ev.AudioMissing)] == []


def test_words_lost_before_silence_ended_the_turn_are_heard_by_the_rebuilt_one(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.live.answer.END_WITHIN_S", 0.1)
    fill(spool, speech(1.0) + silence(4.0) + speech(1.0) + silence(1.0))
    guess = final(2, 5.0, 6.2).model_copy(update={"guessed": True})
    end = ended(at_s=6.5).model_copy(update={"reason": "silence"})

    async def rebuilt() -> tuple[AnswerOutcome, set[str]]:
        bench = Bench(spool, [final(1, 0.0, 1.5), guess, end])
        return await bench.outcome(), {event.type for event in bench.logged}

    outcome, logged = run(rebuilt())
    assert [heard.number for heard in outcome.utterances] == [1, 2]
    assert not logged & {"turn.paused", "turn.resumed", "turn.ended"}


@pytest.mark.parametrize("asked", [True, False])
def test_a_follow_up_is_asked_once_however_often_its_answer_is_judged(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    monkeypatch.setattr("apps.live.answer.END_WITHIN_S", 0.1)
    fill(spool, speech(1.0))
    follow_up = ev.FollowUp(turn=1, text="By how much?", source="rules")
    past: list[ev.Event] = [final(1, 0.0, 1.0), ended(at_s=1.0), *([follow_up] if asked else [])]

    async def judged_again() -> list[ev.Event]:
        bench = Bench(spool, past, follow_ups=True)
        await bench.outcome()
        return [event for event in bench.logged if isinstance(event, ev.FollowUp)]

    assert len(run(judged_again())) == (0 if asked else 1)


def test_missing_frames_are_waited_for_as_long_as_they_come(spool: Spool) -> None:
    async def waited() -> tuple[bool, bool, bool]:
        bench = Bench(spool)
        answer, session = bench.answer, bench.answer._session
        answer.end(End(type="end", answer=1, last_seq=9))
        until = asyncio.get_running_loop().time() + 60
        answer.take(frames(speech(0.1))[0])
        answer._await_rest(until, 0)
        after_progress = session._ended is not None
        answer._await_rest(until, 1)
        after_none = session._ended is not None
        other = Bench(spool).answer
        other._await_rest(0.0, 0)  # however many still come
        answer.seal()
        return after_progress, after_none, other._session._ended is not None

    assert run(waited()) == (False, True, True)


def test_an_answer_is_done_once_the_frames_that_the_page_holds_are_here(spool: Spool) -> None:
    async def ends() -> list[bool]:
        answer = Bench(spool).answer
        answer.expect(3)
        seen = [answer.may_hold_speech]
        answer.done()
        for frame in frames(silence(0.3)):
            seen.append(answer._session._ended is not None)
            answer.take(frame)
        answer.seal()
        return [*seen, answer._session._ended is not None, answer.may_hold_speech]

    assert run(ends()) == [True, False, False, False, True, False]


def gap(first: int, to: int) -> Gap:
    return Gap.model_validate({"type": "gap", "answer": 1, "from": first, "to": to, "why": "lost"})


def test_what_comes_after_the_seal_is_asked_for_again_once_it_counts_as_late(
    spool: Spool, tmp_path: Path
) -> None:
    async def adopted() -> list[Outgoing]:
        bench = Bench(spool)
        bench.answer.take(frames(speech(0.1))[0])
        bench.answer.seal()
        bench.answer.take_gap(gap(1, 3))
        bench.answer.take(frames(speech(0.1), first_seq=3)[0])
        assert (spool.next, bench.answer.complete) == (1, False)
        sync = SpoolSync()
        place = Place(Seat(1, 1), tmp_path / "spool", tmp_path, "media")
        late = LateAnswers(place, sync, bench.told.append, lambda number, sha256: None)
        late.adopt(bench.answer, Kept("", Recording("", 0.1, 1)))
        late.take_gap(gap(1, 3))
        told = list(bench.told)
        await late.close()
        sync.stop()
        return told

    assert Nack(answer=1, from_=1) in run(adopted())
    assert spool.lost[0].to == 3


def test_a_cancelled_socket_leaves_no_recording_of_an_erased_interview(
    rows_here: None, spool: Spool, tmp_path: Path
) -> None:
    fill(spool, speech(1.0))
    place = Place(Seat(999_999, 1), tmp_path / "spool", tmp_path / "media", "a/b")

    async def cancelled() -> None:
        writing = asyncio.create_task(recording_kept(place, spool, lambda: None))
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    run(cancelled())
    assert not list((tmp_path / "media").rglob("*.wav"))


def test_rows_that_are_gone_take_the_recording_along(rows_here: None, tmp_path: Path) -> None:
    place = Place(Seat(999_999, 1), tmp_path / "spool", tmp_path / "media", "a/b")
    wav = tmp_path / "media" / "a" / "b" / "0001.wav"
    wav.parent.mkdir(parents=True)
    wav.write_bytes(b"RIFF")

    def gone() -> None:
        raise InterviewGone

    with pytest.raises(InterviewGone):
        run(recorded(place, Kept("a/b/0001.wav", Recording("", 0.1, 1)), gone))
    assert not wav.parent.exists()


def test_no_spool_is_made_again_for_an_erased_interview(rows_here: None, tmp_path: Path) -> None:
    place = Place(Seat(999_999, 1), tmp_path / "spool", tmp_path, "media")
    with pytest.raises(InterviewGone):
        run(spool_found(place, 1, "epoch of the spool that was erased"))
    assert not place.spool_folder.exists()


def test_a_spool_that_outlived_its_committed_answer_goes_at_the_next_hello(tmp_path: Path) -> None:
    place = Place(Seat(1, 1), tmp_path / "spool", tmp_path, "media")
    for number in (1, 2, 3):
        made = open_spool(place.spool_folder, number)
        fill(made, b"")
        made.close()
    forget_kept(place, {1: "sha", 3: "sha"})
    assert [path.name for path in place.spool_folder.iterdir()] == ["0002.spool"]
    forget_kept(Place(Seat(1, 1), tmp_path / "none", tmp_path, "media"), {1: "sha"})
    assert not (tmp_path / "none").exists()


def incomplete(person: Person, folder: Path, *numbers: int) -> list[AskedTurn]:
    """Closed turns without the end of their audio, each with a spool of one frame."""
    question = person.interview.template.questions.get(position=1)
    for number in numbers:
        made = open_spool(folder, number)
        made.append(frames(speech(0.1), answer=number)[0])
        made.close()
        Turn.objects.create(
            interview=person.interview,
            number=number,
            question=question,
            question_text=question.text,
            status=Turn.Status.ANSWERED,
            epoch=made.epoch,
            audio_s=0.1,
            audio_complete=False,
        )
    turns = Turn.objects.filter(interview=person.interview)
    return [AskedTurn(t.number, question.pk, "main", "", t.status, epoch=t.epoch, audio_s=0.1) for t in turns]


def test_few_late_answers_are_open_at_once_and_one_that_ends_makes_room(
    rows_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.live.late.OPEN_AT_ONCE", 2)
    person = Person(questions=1)
    turns = incomplete(person, tmp_path / "spool", 1, 2, 3)
    place = Place(Seat(person.interview.pk, 0), tmp_path / "spool", tmp_path, "media")
    told: list[Outgoing] = []
    committed: list[int] = []

    async def worked_off() -> None:
        sync = SpoolSync()
        late = LateAnswers(place, sync, told.append, lambda number, sha256: committed.append(number))
        await late.offer(turns)
        assert [offer.answer for offer in late.offers()] == [1, 2]
        assert late.holds(3)
        running = asyncio.create_task(late.run())
        for number in (1, 2, 3):
            while not any(isinstance(message, Ack) and message.answer == number for message in told):
                await asyncio.sleep(0.01)
            late.end(End(type="end", answer=number, last_seq=0))
        await late.drained()
        running.cancel()
        await late.close()
        sync.stop()

    run(worked_off())
    assert committed == [1, 2, 3]
    assert not Turn.objects.filter(interview=person.interview, audio_complete=False).exists()
    assert not (tmp_path / "spool").exists()


def test_a_late_spool_that_somebody_still_holds_keeps_nobody_from_the_open_question(
    rows_here: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.live.spool.LOCK_WAIT_S", 0.1)
    person = Person(questions=1)
    turns = incomplete(person, tmp_path / "spool", 1, 2)
    place = Place(Seat(person.interview.pk, 0), tmp_path / "spool", tmp_path, "media")
    held = open_spool(tmp_path / "spool", 1)

    async def offered() -> list[int]:
        sync = SpoolSync()
        late = LateAnswers(place, sync, lambda message: None, lambda number, sha256: None)
        await late.offer(turns)
        offers = [offer.answer for offer in late.offers()]
        await late.close()
        sync.stop()
        return offers

    assert run(offered()) == [2]
    held.close()
    assert Interview.objects.filter(pk=person.interview.pk).exists()
