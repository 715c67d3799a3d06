"""Whether what a recogniser wrote can have been said: repetition, truncation, known hallucinations.

Pure text against seconds of voice; knows no model. The log-probability is not trusted: loops score well.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Literal

from inference.assessment import Language

COMPRESSION_LIMIT = 2.4
COMPRESSION_MIN_BYTES = 80  # zlib's own header makes shorter texts meaningless
LONGEST_LOOP = 12  # words or characters
# How often one n-gram may follow itself: "no, no, no" and 对对对 are speech, a clause three times is not.
LOOP_LIMITS = {1: 5, 2: 4}
LOOP_LIMIT = 3
MIN_UNITS_A_SECOND: dict[Language, float] = {"en": 1.0, "zh": 2.0}
# Whole readings, clean and noisy, leave 0.7 s at most; those without their last third 1.3 s and more.
WORDLESS_MOST_S = 1.1
VOICE_MIN_S = 0.15  # a shorter sound is a click
NEAR_SILENCE_S = 0.4
# Nobody says more than this in a second of voice, a few units beside: detectors miss soft syllables.
MOST_UNITS_A_SECOND: dict[Language, float] = {"en": 10.0, "zh": 14.0}
SPARE_UNITS = 5
NO_SPEECH_LIMIT = 0.6
ECHO_MIN_UNITS = 3

Fault = Literal["repetition", "truncation", "token_limit", "echo"]

_UNIT = re.compile(r"[㐀-鿿]|[^\W_㐀-鿿]+(?:['’][^\W_㐀-鿿]+)*")
# What Whisper learned from subtitles and writes over noise. No answer begins with these ...
_CREDITS = re.compile(
    r"thanks?( you)?( so much| all| very much)? for (watching|viewing)( |[.!]|$)"
    r"|(please )?(like and )?subscribe to (my|our|the|this) channel|don't forget to (like|subscribe)"
    r"|(i'll )?see you (guys )?in the next (video|one)"
    r"|(subtitles?|captions?|transcri(bed|ption)|translated) by|.{0,12}amara\.org"
    r"|[♪♫]|[\[(（【*]\s*(music|applause|laughter|音乐|掌声|笑声)"
    r"|(中文)?字幕(由|提供|志愿者|制作|组|by|:|：)|请不吝点赞|.{0,4}(点赞|订阅)[,，、 ]*(订阅|转发|点赞)"
    r"|以下是普通话|明镜(需要|与点点)|(谢谢|感谢)(大家|您|你|你们)?(的)?(观看|收看|收听)"
    r"|.{0,6}下(期|个)(视频|节目)?再(见|会)|(作词|作曲|编曲|词曲)[ :：]",
    re.IGNORECASE,
)
# ... and these are real answers, so they fall only where hardly any voice was heard.
_FILLINGS = (
    "thank you",
    "thank you very much",
    "thanks",
    "you",
    "bye",
    "bye bye",
    "okay",
    "so",
    "oh",
    "I'm not sure if I can do it",
    "I'm sorry",
    "yeah",
    "hmm",
    "uh",
    "the",
    "谢谢",
    "谢谢大家",
    "好",
    "嗯",
    "啊",
    "哦",
    "我",
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reading of one piece of audio, with what is needed to doubt it."""

    text: str
    language: Language
    voiced_s: float
    no_speech: float = 0.0
    at_token_limit: bool = False
    terms: tuple[str, ...] = ()
    wordless_s: float = 0.0  # at the beginning or the end of the voice


def fault(seen: Evidence) -> Fault | None:
    """Why this text cannot be what was said, or None."""
    heard = units(seen.text)
    if seen.at_token_limit:
        return "token_limit"
    if loops(heard) or compresses(seen.text):
        return "repetition"
    said = [] if invented(seen) else heard
    few = len(said) < int(seen.voiced_s * MIN_UNITS_A_SECOND[seen.language])
    if few or seen.wordless_s > WORDLESS_MOST_S:
        return "truncation"
    if echoes(heard, seen.terms):
        return "echo"
    return None


def invented(seen: Evidence) -> bool:
    """Text that Whisper is known to write where nobody speaks."""
    if _CREDITS.match(seen.text.strip()):
        return len(units(seen.text)) <= 20
    if len(units(seen.text)) > SPARE_UNITS + seen.voiced_s * MOST_UNITS_A_SECOND[seen.language]:
        return True
    unsure = seen.voiced_s < NEAR_SILENCE_S or seen.no_speech > NO_SPEECH_LIMIT
    return unsure and units(seen.text) in [units(filling) for filling in _FILLINGS]


def units(text: str) -> list[str]:
    """Words, and Chinese characters one by one; lower case, no punctuation."""
    return _UNIT.findall(text.lower().replace("’", "'"))


def loops(heard: list[str]) -> bool:
    return any(_repeats(heard, n) >= LOOP_LIMITS.get(n, LOOP_LIMIT) for n in range(1, LONGEST_LOOP + 1))


def _repeats(heard: list[str], n: int) -> int:
    """The most times one n-gram follows itself without a break."""
    longest = run = 0
    for i in range(n, len(heard)):
        run = run + 1 if heard[i] == heard[i - n] else 0
        longest = max(longest, run)
    return longest // n + 1 if len(heard) >= n else 0


def compresses(text: str) -> bool:
    raw = text.encode()
    return len(raw) >= COMPRESSION_MIN_BYTES and len(raw) / len(zlib.compress(raw)) > COMPRESSION_LIMIT


def echoes(heard: list[str], terms: tuple[str, ...]) -> bool:
    """The prompt came back as speech: the list of terms in its own order, or nothing but a run of it."""
    listed = units(" ".join(terms))
    if len(terms) < 2 or not heard:
        return False
    return heard[: len(listed)] == listed or (len(heard) >= ECHO_MIN_UNITS and _within(heard, listed))


def _within(part: list[str], whole: list[str]) -> bool:
    return any(whole[at : at + len(part)] == part for at in range(len(whole) - len(part) + 1))
