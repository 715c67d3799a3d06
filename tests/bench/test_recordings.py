"""Made answers: the pauses are where and as long as they are said to be, and the same in every run."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

from inference.audio import BYTES_PER_SAMPLE, SAMPLE_RATE, duration_s
from tests.bench.recordings import (
    LONGEST_PAUSE_S,
    Recording,
    made,
    no_speech,
    pause_lengths,
    samples,
    spoken,
    voice_rms,
    with_noise,
    with_pauses,
)


def _clip(name: str) -> Recording:
    return next(one for one in spoken() if one.id == name)


def test_pauses_are_as_long_as_people_make_them() -> None:
    lengths = pause_lengths(234)
    assert statistics.median(lengths) == pytest.approx(0.6, abs=0.02)
    assert sum(length_s < 1.6 for length_s in lengths) / len(lengths) == pytest.approx(0.955, abs=0.01)
    assert 2.3 < max(lengths) <= LONGEST_PAUSE_S
    assert lengths == pause_lengths(234) != sorted(lengths)


def test_a_take_is_the_same_in_every_run_and_differs_from_the_next() -> None:
    clip = _clip("off_topic")
    assert with_pauses(clip, 0) == with_pauses(clip, 0)
    assert with_pauses(clip, 0).pauses != with_pauses(clip, 1).pauses


def test_all_that_was_said_is_still_there_and_only_pauses_are_new() -> None:
    clip = _clip("star_quantified")
    paused = with_pauses(clip, 0)
    added_s = paused.speech_end_s - clip.speech_end_s
    assert added_s > 0.5
    assert duration_s(paused.pcm) == pytest.approx(duration_s(clip.pcm) + added_s, abs=0.001)
    before, after = samples(clip.pcm), samples(paused.pcm)
    assert float(np.sum(after**2)) == pytest.approx(float(np.sum(before**2)), rel=0.001)


def test_where_a_pause_is_said_to_be_nobody_speaks() -> None:
    paused = with_pauses(_clip("off_topic"), 1)
    for start_s, length_s in paused.pauses:
        inside = samples(paused.pcm)[round(start_s * SAMPLE_RATE) : round((start_s + length_s) * SAMPLE_RATE)]
        assert float(np.sqrt(np.mean(inside**2))) < 0.1 * voice_rms(samples(paused.pcm))


def test_a_pause_that_was_there_is_made_longer_not_doubled() -> None:
    clip = _clip("thinking_pause")
    assert (3.929, 1.8) in clip.pauses
    for take in range(3):
        lengths = [length_s for _, length_s in with_pauses(clip, take).pauses]
        assert max(lengths) <= LONGEST_PAUSE_S


def test_noise_is_so_many_decibels_below_the_voice() -> None:
    clip = _clip("off_topic")
    noisy = with_noise(clip, 10)
    voice, mixed = samples(clip.pcm), samples(noisy.pcm)
    scale = float(np.dot(mixed, voice) / np.dot(voice, voice))
    noise = mixed / scale - voice
    below_db = 20 * np.log10(voice_rms(voice) / float(np.sqrt(np.mean(noise**2))))
    assert below_db == pytest.approx(10.0, abs=0.5)
    assert (noisy.kind, noisy.speech_end_s) == ("10 dB", clip.speech_end_s)
    assert noisy == with_noise(clip, 10)


def test_the_made_set_has_each_answer_with_pauses_and_at_each_noise() -> None:
    clips = [_clip("short_no"), _clip("off_topic")]
    answers = made(clips)
    assert len({one.id for one in answers}) == len(answers) == 6 * len(clips)
    kinds = [one.kind for one in answers[:6]]
    assert kinds == [*["pauses"] * 3, "pauses, 20 dB", "pauses, 10 dB", "pauses, 5 dB"]


def test_sounds_without_speech_are_as_long_as_asked_and_not_all_silence() -> None:
    sounds = no_speech(2.0)
    assert {name: len(pcm) for name, pcm in sounds.items()} == dict.fromkeys(
        ("silence", "fan", "keyboard", "music"), 2 * SAMPLE_RATE * BYTES_PER_SAMPLE
    )
    assert [name for name, pcm in sounds.items() if not any(pcm)] == ["silence"]
