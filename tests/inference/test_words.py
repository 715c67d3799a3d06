"""Aligned pieces as words."""

from __future__ import annotations

from inference.adapters.words import Piece, wordless_s, words_from
from inference.assessment import Language, Word


def texts(language: Language, *pieces: str) -> list[str]:
    aligned = [Piece(text, n * 0.2, n * 0.2 + 0.2, 0.9) for n, text in enumerate(pieces)]
    return [word.text for word in words_from(aligned, language, 60.0)]


def test_english_words_keep_their_marks_and_endings() -> None:
    pieces = (" fell", " by", " 40", "%", ",", " full", "-", "time", " I", "'m", " done", ".")
    assert texts("en", *pieces) == ["fell", "by", "40%,", "full-time", "I'm", "done."]


def test_chinese_characters_stand_alone_and_keep_their_marks() -> None:
    assert texts("zh", "我", "们", "，", "对", "。") == ["我", "们，", "对。"]


def test_english_names_in_chinese_are_whole_words() -> None:
    assert texts("zh", "用", "K", "af", "ka", "和", " Redis") == ["用", "Kafka", "和", "Redis"]


def test_a_mark_changes_neither_time_nor_confidence() -> None:
    (word,) = words_from([Piece(" no", 0.1, 0.3, 0.8), Piece(".", 0.3, 0.9, 0.1)], "en", 2.0)
    assert (word.start_s, word.end_s, word.confidence) == (0.1, 0.3, 0.8)


def test_the_silence_before_the_first_word_is_not_its_own() -> None:
    pieces = [Piece(" so", 0.0, 1.2, 0.9), Piece(" we", 1.2, 1.4, 0.9), Piece(" did", 1.4, 1.6, 0.9)]
    assert words_from(pieces, "en", 2.0)[0].start_s == 0.8


def test_times_stay_inside_the_audio() -> None:
    (word,) = words_from([Piece(" end", 1.8, 2.4, 0.9)], "en", 2.0)
    assert (word.start_s, word.end_s) == (1.8, 2.0)


def test_nothing_is_no_words() -> None:
    assert words_from([], "en", 1.0) == ()
    assert texts("en", " ", "") == []


def test_voice_without_words_is_found_at_both_ends() -> None:
    words = (Word("we", 0.5, 0.7, 0.9), Word("test", 0.7, 1.0, 0.9))
    assert wordless_s(words, 1.2) == 0.5
    assert wordless_s(words, 4.0) == 3.0
    assert wordless_s((Word("we", 2.0, 2.2, 0.9), *words[1:]), 1.0) == 2.0


def test_a_last_word_that_is_stretched_over_what_was_left_out_does_not_hide_it() -> None:
    assert wordless_s((Word("the", 1.0, 6.0, 0.9),), 6.0) == 3.5


def test_without_words_or_a_listener_nothing_is_known_to_be_missing() -> None:
    assert wordless_s((), 4.0) == 0.0
    assert wordless_s((Word("we", 2.0, 2.2, 0.9),), None) == 0.0
