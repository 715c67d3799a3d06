"""Endpointing as list -> list: scripted probabilities in, sounds out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from inference.audio import SAMPLE_RATE, WINDOW_S, WINDOW_SAMPLES, AudioChunk
from inference.config import Endpointing
from inference.endpointing import (
    Endpointer,
    Guess,
    Heard,
    Onset,
    Pause,
    Resumed,
    Sound,
    Utterance,
    UtteranceEnded,
)

SPEECH, SILENCE, BETWEEN = 0.9, 0.01, 0.4
CONFIG = Endpointing()


def windows(seconds: float, start: int = 0, level: int = 1000) -> list[AudioChunk]:
    """Windows whose samples tell where they are from, so that lost or doubled audio shows."""
    count = round(seconds / WINDOW_S)
    return [
        AudioChunk(start + i * WINDOW_SAMPLES, (level + i % 100).to_bytes(2, "little") * WINDOW_SAMPLES)
        for i in range(count)
    ]


def script(*parts: tuple[float, float]) -> list[float]:
    """(probability, seconds) pairs as one probability per window."""
    return [p for p, seconds in parts for _ in range(round(seconds / WINDOW_S))]


def hear(
    probabilities: Iterable[float],
    config: Endpointing = CONFIG,
    audio: list[AudioChunk] | None = None,
    guess_every_s: float = 0.8,
) -> list[Sound]:
    probabilities = list(probabilities)
    audio = audio or windows(len(probabilities) * WINDOW_S)
    ears = Endpointer(config, guess_every_s)
    sounds = [sound for w, p in zip(audio, probabilities, strict=True) for sound in ears.feed(w, [p])]
    return sounds + ears.finish()


def hear_in_runs(probabilities: list[float], lengths: Iterable[int], config: Endpointing) -> list[Sound]:
    """As `hear`, in runs of these lengths, again and again."""
    audio, ears, at = windows(len(probabilities) * WINDOW_S), Endpointer(config), 0
    sounds: list[Sound] = []
    for length in cycle(lengths):
        run = audio[at : at + length]
        if not run:
            return [*sounds, *ears.finish()]
        joined = AudioChunk(run[0].start, b"".join(window.pcm for window in run))
        sounds += ears.feed(joined, probabilities[at : at + length])
        at += length
    raise AssertionError


def without_clock(sounds: list[Sound]) -> list[Sound]:
    return [sound for sound in sounds if not isinstance(sound, Heard)]


def names(sounds: list[Sound]) -> list[str]:
    return [type(sound).__name__ for sound in without_clock(sounds)]


def ended(sounds: list[Sound]) -> list[Utterance]:
    return [sound.utterance for sound in sounds if isinstance(sound, UtteranceEnded)]


def test_silence_gives_nothing_but_the_clock() -> None:
    sounds = hear(script((SILENCE, 60)))
    assert without_clock(sounds) == []
    assert len(sounds) == 1875
    assert all(isinstance(sound, Heard) and sound.speech_end_s is None for sound in sounds)


def test_speech_begins_pauses_and_ends() -> None:
    sounds = hear(script((SILENCE, 1), (SPEECH, 0.4), (SILENCE, 1)))
    assert names(sounds) == ["Onset", "Pause", "UtteranceEnded"]
    (utterance,) = ended(sounds)
    assert utterance.number == 1
    assert abs(utterance.speech_end_s - 1.4) <= WINDOW_S
    assert abs(utterance.voiced_s - 0.4) <= WINDOW_S


def test_the_pause_is_announced_after_the_eager_time_and_the_end_after_the_stop_time() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 2)))
    at: dict[str, float] = {}
    for index, sound in enumerate(sounds):
        clock = next(s for s in sounds[index:] if isinstance(s, Heard))
        at.setdefault(type(sound).__name__, clock.silence_s)
    assert abs(at["Pause"] - CONFIG.eager_s) <= WINDOW_S
    assert abs(at["UtteranceEnded"] - CONFIG.stop_s) <= WINDOW_S


def test_the_ended_utterance_is_the_one_that_was_decoded_at_the_pause() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 1)))
    (pause,) = [sound for sound in sounds if isinstance(sound, Pause)]
    assert ended(sounds) == [pause.utterance]


def test_the_end_of_the_answer_in_a_pause_keeps_what_was_decoded() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 0.3)))
    (pause,) = [sound for sound in sounds if isinstance(sound, Pause)]
    assert ended(sounds) == [pause.utterance]


def test_the_last_words_are_kept_when_the_answer_ends_in_speech() -> None:
    sounds = hear(script((SILENCE, 1), (SPEECH, 0.5)))
    (utterance,) = ended(sounds)
    assert utterance.end_s == sum(len(w.pcm) for w in windows(1.5)) / 2 / SAMPLE_RATE


def test_going_on_within_the_stop_time_resumes_the_same_utterance() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 0.35), (SPEECH, 1), (SILENCE, 1)), guess_every_s=9)
    assert names(sounds) == ["Onset", "Pause", "Resumed", "Pause", "UtteranceEnded"]
    (utterance,) = ended(sounds)
    assert utterance.number == 1
    assert abs(utterance.speech_end_s - 2.35) <= 2 * WINDOW_S


def test_going_on_after_the_stop_time_is_a_second_utterance() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 0.6), (SPEECH, 1), (SILENCE, 1)))
    assert [utterance.number for utterance in ended(sounds)] == [1, 2]
    assert not any(isinstance(sound, Resumed) for sound in sounds)


def test_the_first_300_ms_before_the_onset_are_kept() -> None:
    (utterance,) = ended(hear(script((SILENCE, 2), (SPEECH, 1), (SILENCE, 1))))
    voice_s = round(2 / WINDOW_S) * WINDOW_S
    assert 0.28 <= voice_s - utterance.start_s <= 0.3 + WINDOW_S


def test_speech_from_the_very_first_window_starts_at_zero() -> None:
    (utterance,) = ended(hear(script((SPEECH, 1), (SILENCE, 1))))
    assert utterance.start_s == 0.0


def test_clicks_shorter_than_an_onset_give_nothing_and_do_not_move_the_silence() -> None:
    clicks = script(*[(SPEECH, 2 * WINDOW_S), (SILENCE, 0.1)] * 40)
    sounds = hear(clicks)
    assert without_clock(sounds) == []
    assert all(sound.speech_end_s is None for sound in sounds if isinstance(sound, Heard))


def test_a_click_in_a_pause_does_not_take_the_pause_back() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 0.3), (SPEECH, WINDOW_S), (SILENCE, 1)))
    assert names(sounds) == ["Onset", "Guess", "Pause", "UtteranceEnded"]
    last = [sound for sound in sounds if isinstance(sound, Heard)][-1]
    assert last.speech_end_s is not None
    assert abs(last.speech_end_s - 1) <= WINDOW_S


def test_speech_that_begins_as_the_utterance_would_close_still_belongs_to_it() -> None:
    sounds = hear(script((SPEECH, 1), (SILENCE, 0.46), (SPEECH, 1), (SILENCE, 1)))
    assert len(ended(sounds)) == 1


def test_hysteresis_keeps_fading_speech_but_does_not_start_on_it() -> None:
    assert without_clock(hear(script((BETWEEN, 3)))) == []
    (utterance,) = ended(hear(script((SPEECH, 0.5), (BETWEEN, 0.5), (SILENCE, 1))))
    assert abs(utterance.speech_end_s - 1.0) <= WINDOW_S


def test_guesses_grow_at_the_asked_pace_and_stop_in_a_pause() -> None:
    sounds = hear(script((SPEECH, 4), (SILENCE, 5)), guess_every_s=0.8)
    guesses = [sound.utterance for sound in sounds if isinstance(sound, Guess)]
    assert 4 <= len(guesses) <= 5
    assert [g.end_s for g in guesses] == sorted(g.end_s for g in guesses)
    assert all(g.end_s <= 4.0 for g in guesses)


def test_a_four_minute_monologue_is_cut_and_no_audio_is_lost_or_doubled() -> None:
    probabilities = script((SPEECH, 240), (SILENCE, 1))
    audio = windows(len(probabilities) * WINDOW_S)
    sounds = hear(probabilities, audio=audio)
    pieces = ended(sounds)
    assert [piece.number for piece in pieces] == list(range(1, len(pieces) + 1))
    assert all(piece.end_s - piece.start_s <= CONFIG.max_utterance_s + WINDOW_S for piece in pieces)
    joined = b"".join(piece.pcm for piece in pieces)
    assert joined == b"".join(w.pcm for w in audio)[: len(joined)]
    assert len(joined) >= 240 * SAMPLE_RATE * 2
    assert sum(isinstance(sound, Onset) for sound in sounds) == 1


def test_a_forced_cut_falls_into_the_quietest_recent_window() -> None:
    audio = windows(30, level=5000)
    for i in (750, 751, 752):
        audio[i] = AudioChunk(audio[i].start, bytes(len(audio[i].pcm)))
    sounds = hear([SPEECH] * len(audio), audio=audio)
    cut = next(s for s in sounds if isinstance(s, UtteranceEnded))
    assert cut.reason == "cut"
    assert cut.utterance.end_s == audio[751].end_s


def test_a_gap_in_the_audio_is_never_joined_over() -> None:
    first = windows(1)
    second = windows(1, start=first[-1].start + WINDOW_SAMPLES * 50)
    sounds = hear([SPEECH] * len(first + second), audio=first + second)
    reasons = [sound.reason for sound in sounds if isinstance(sound, UtteranceEnded)]
    assert reasons == ["gap", "finish"]
    before, after = ended(sounds)
    assert before.end_s == first[-1].end_s
    assert after.start_s >= second[0].start_s


def test_every_window_is_closed_by_the_clock() -> None:
    probabilities = script((SILENCE, 1), (SPEECH, 1), (SILENCE, 1))
    audio = windows(len(probabilities) * WINDOW_S)
    sounds = hear(probabilities, audio=audio)
    clock = [sound.at_s for sound in sounds if isinstance(sound, Heard)]
    assert clock == [w.end_s for w in audio]
    assert isinstance(sounds[-1], Heard)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([SPEECH, SILENCE, BETWEEN]), st.integers(1, 40)), max_size=60))
def test_whatever_is_said_utterances_keep_order_never_overlap_and_begin_once(
    runs: list[tuple[float, int]],
) -> None:
    probabilities = [p for p, count in runs for _ in range(count)]
    config = Endpointing(max_utterance_s=4.0)
    audio = windows(len(probabilities) * WINDOW_S)
    sounds = hear(probabilities, config, audio) if audio else []
    pieces = ended(sounds)
    whole = b"".join(w.pcm for w in audio)
    for piece in pieces:
        begin, end = (round(t * SAMPLE_RATE) * 2 for t in (piece.start_s, piece.end_s))
        assert piece.pcm == whole[begin:end]
        assert piece.start_s < piece.speech_end_s <= piece.end_s
    for earlier, later in pairwise(pieces):
        assert earlier.end_s <= later.start_s
        assert later.number == earlier.number + 1
    cuts = sum(s.reason == "cut" for s in sounds if isinstance(s, UtteranceEnded))
    assert sum(isinstance(s, Onset) for s in sounds) + cuts == len(pieces)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([SPEECH, SILENCE, BETWEEN]), st.integers(1, 40)), max_size=40),
    st.lists(st.integers(1, 8), min_size=1, max_size=6),
)
def test_in_runs_the_same_is_heard_as_window_by_window(
    runs: list[tuple[float, int]], lengths: list[int]
) -> None:
    probabilities = [p for p, count in runs for _ in range(count)]
    config = Endpointing(max_utterance_s=4.0)
    single, joined = hear(probabilities, config), hear_in_runs(probabilities, lengths, config)
    assert without_clock(joined) == without_clock(single)
    clocks = [sound for sound in joined if isinstance(sound, Heard)]
    assert set(clocks) <= {sound for sound in single if isinstance(sound, Heard)}
    assert clocks[-1:] == [sound for sound in single if isinstance(sound, Heard)][-1:]


def test_the_clock_goes_once_a_run_and_after_every_other_sound() -> None:
    probabilities = script((SILENCE, 1.024), (SPEECH, 0.512), (SILENCE, 1.024))
    sounds = hear_in_runs(probabilities, [8], CONFIG)
    assert names(sounds) == ["Onset", "Guess", "Pause", "UtteranceEnded"]
    clocks = [sound.at_s for sound in sounds if isinstance(sound, Heard)]
    assert clocks == sorted(set(clocks))
    assert {round(8 * n * WINDOW_S, 3) for n in range(1, 11)} <= {round(at_s, 3) for at_s in clocks}
    assert len(clocks) <= 10 + 4
    assert all(isinstance(after, Heard) for sound, after in pairwise(sounds) if not isinstance(sound, Heard))


def cut_at(at_s: float, *parts: tuple[float, float]) -> list[Sound]:
    """Ask for a cut when all of it was heard, then say a little more."""
    probabilities = script(*parts)
    audio, ears = windows(len(probabilities) * WINDOW_S), Endpointer(CONFIG, 99.0)
    sounds = [sound for w, p in zip(audio, probabilities, strict=True) for sound in ears.feed(w, [p])]
    return [*sounds, *ears.cut(at_s), *ears.finish()]


def test_a_cut_that_is_asked_for_splits_the_open_utterance_at_the_nearest_window() -> None:
    sounds = cut_at(5.0, (SPEECH, 9.6))
    reasons = [sound.reason for sound in sounds if isinstance(sound, UtteranceEnded)]
    assert reasons == ["cut", "finish"]
    before, after = ended(sounds)
    assert abs(before.end_s - 5.0) <= WINDOW_S / 2
    assert (after.start_s, after.number) == (before.end_s, before.number + 1)
    assert before.pcm + after.pcm == b"".join(w.pcm for w in windows(9.6))


def test_a_cut_in_a_pause_after_the_end_or_without_voice_on_both_sides_changes_nothing() -> None:
    for at_s, parts in (
        (1.0, [(SPEECH, 2), (SILENCE, 0.3)]),
        (1.0, [(SPEECH, 2), (SILENCE, 2)]),
        (0.0, [(SPEECH, 2)]),
        (9.0, [(SPEECH, 2)]),
        (2.02, [(SPEECH, 2.016), (SILENCE, 0.064)]),
        (1.1, [(SILENCE, 2), (SPEECH, 1)]),
    ):
        reasons = [sound.reason for sound in cut_at(at_s, *parts) if isinstance(sound, UtteranceEnded)]
        assert len(reasons) == 1
        assert reasons[0] != "cut"


def test_what_is_held_while_nobody_speaks_is_no_more_than_the_preroll() -> None:
    ears = Endpointer(CONFIG)
    for window in windows(60):
        ears.feed(window, [SILENCE])
    held_s = len(ears._pcm) / 2 / SAMPLE_RATE
    assert held_s <= CONFIG.onset_s + CONFIG.preroll_s + WINDOW_S
