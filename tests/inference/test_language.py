"""The language that is spoken: found on the first words that tell it, then the same for the whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from inference import events as ev
from inference.assessment import Language, Word
from inference.ports import Priority, Speech, Transcript
from inference.transcription import HeardUtterance, heard_before, spoken_language
from tests.inference.sessions import QUESTION, Played, answer, engines, silence, speech

ZH = "我负责把队列改成了异步，因为峰值太高，结果延迟降低了百分之四十"


class Bilingual:
    """Hears the given texts, one a final, each in its own language; `asked` keeps which one it was told."""

    def __init__(self, *heard: tuple[str, Language]) -> None:
        self._heard = list(heard)
        self.asked: list[Language | None] = []

    async def start(self) -> None:
        pass

    async def transcribe(self, speech: Speech, priority: Priority) -> Transcript:
        await asyncio.sleep(0)
        if priority is Priority.PARTIAL:
            return Transcript("", "en")
        self.asked.append(speech.language)
        text, language = self._heard[0] if len(self._heard) == 1 else self._heard.pop(0)
        return Transcript(text, speech.language or language, (Word(text, 0.0, 0.9, 0.9),), 0.9)

    async def aclose(self) -> None:
        pass


async def spoken(ears: Bilingual, *sounds: tuple[bytes, float], **changes: object) -> Played:
    return await answer(*sounds, on=engines(ears), **{"spoken": None, **changes})


def heard(text: str, language: Language, length_s: float, *, low_confidence: bool = False) -> HeardUtterance:
    transcript = Transcript(text, language, (), 0.9, low_confidence=low_confidence)
    return HeardUtterance(1, transcript, 0.0, length_s + 0.5, speech_end_s=length_s)


def told(ears: Bilingual) -> Sequence[Language | None]:
    """Without what was asked again of the same utterance."""
    return list(dict.fromkeys(ears.asked))


async def test_the_first_words_that_tell_the_language_fix_it_for_the_answer() -> None:
    ears = Bilingual((ZH, "zh"))
    played = await spoken(ears, speech(1.6), silence(1.2), speech(1.2), silence(1.2))
    assert told(ears) == [None, "zh"]
    assert {final.language for final in played.of(ev.TranscriptFinal)} == {"zh"}


async def test_a_short_sound_does_not_tell_the_language() -> None:
    ears = Bilingual(("嗯", "zh"), ("I rewrote the queue because of the peaks.", "en"))
    await spoken(ears, speech(0.5), silence(1.2), speech(1.6), silence(1.2), speech(1.2), silence(1.2))
    assert ears.asked[:2] == [None, None]
    assert "zh" not in ears.asked
    assert ears.asked[-1] == "en"


async def test_a_language_that_was_given_is_never_looked_for() -> None:
    ears = Bilingual((ZH, "zh"))
    await spoken(ears, speech(1.6), silence(1.2), spoken="en")
    assert set(ears.asked) == {"en"}


def test_only_sure_words_of_some_length_tell_a_language() -> None:
    assert spoken_language([heard(ZH, "zh", 1.5)]) == "zh"
    assert spoken_language([heard("嗯", "zh", 0.6), heard("I rewrote it.", "en", 1.5)]) == "en"
    assert spoken_language([heard(ZH, "zh", 1.5, low_confidence=True)]) is None
    assert spoken_language([replace(heard(ZH, "zh", 1.5), lost=True)]) is None
    assert spoken_language([heard("", "zh", 1.5)]) is None


async def test_who_chose_the_language_is_judged_in_it() -> None:
    played = await spoken(Bilingual((ZH, "zh")), speech(1.6), silence(1.2), any_language=True)
    assert played.outcome is not None
    assert played.outcome.assessment is not None
    assert "wrong_language" not in played.outcome.assessment.flags
    asked_in_english = await spoken(Bilingual((ZH, "zh")), speech(1.6), silence(1.2))
    assert asked_in_english.outcome is not None
    assert asked_in_english.outcome.assessment is not None
    assert "wrong_language" in asked_in_english.outcome.assessment.flags


async def test_chinese_ends_with_a_mark_that_no_clock_listens_to() -> None:
    played = await spoken(Bilingual((ZH, "zh")), speech(1.6), silence(1.2), spoken="zh")
    final = played.of(ev.TranscriptFinal)[-1]
    assert final.text == ZH + "。"
    assert final.raw == ZH
    [kept] = heard_before([final])
    assert (kept.transcript.text, kept.transcript.raw) == (ZH + "。", ZH)


async def test_a_name_put_right_is_told_with_what_was_heard_and_kept_over_a_restart() -> None:
    ears = Bilingual(("riddies", "en"))
    question = replace(QUESTION, terms=("Redis",))
    played = await spoken(ears, speech(1.6), silence(1.2), spoken="en", question=question)
    final = played.of(ev.TranscriptFinal)[-1]
    assert (final.text, final.raw) == ("Redis", "riddies")
    assert [(word.text, word.heard) for word in final.words] == [("Redis", "riddies")]
    [kept] = heard_before([final])
    assert kept.transcript.words[0].heard == "riddies"
    assert ("terms_corrected", 1) in played.observed
