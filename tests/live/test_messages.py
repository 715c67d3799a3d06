from __future__ import annotations

import json

import pytest

from apps.live.close_codes import CLOSE_TABLE, CloseCode, Refused
from apps.live.messages import End, Hello, Nack, TextAnswer, parse_message
from apps.live.templatetags.live import live_protocol


def test_a_hello_needs_only_its_ticket() -> None:
    hello = parse_message('{"type":"hello","ticket":"t","from_a_newer_page":1}')
    assert hello == Hello(type="hello", ticket="t")


def test_an_end_without_frames_says_minus_one() -> None:
    assert parse_message('{"type":"end","answer":2,"last_seq":-1}') == End(type="end", answer=2, last_seq=-1)


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        "{}",
        '{"type":"score","value":10}',
        '{"type":"hello"}',
        '{"type":"end","answer":"1","last_seq":0}',
        '{"type":"end","answer":1,"last_seq":true}',
        '{"type":"end","answer":1,"last_seq":-2}',
        '{"type":"end","answer":1,"last_seq":1,"sha256":"xyz"}',
        '{"type":"text_answer","answer":1,"text":""}',
        '{"type":"text_answer","answer":1,"text":"a\\u0000b"}',
        '{"type":"text_answer","answer":1,"text":"\\ud800"}',
        json.dumps({"type": "text_answer", "answer": 1, "text": "x" * 12_001}),
        '{"type":"input","mode":"telepathy"}',
        "[" * 50_000,
    ],
)
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_message(text)
    assert refused.value.code == CloseCode.BAD_FRAME


def test_a_refusal_never_repeats_what_was_said() -> None:
    with pytest.raises(Refused) as refused:
        parse_message('{"type":"text_answer","answer":1,"text":"my secret\\u0000"}')
    assert "secret" not in str(refused.value)


def test_an_over_long_message_is_refused_as_such() -> None:
    with pytest.raises(Refused) as refused:
        parse_message('{"type":"finish"}' + " " * 65_536)
    assert refused.value.code == CloseCode.TOO_LONG


def test_the_longest_answer_in_chinese_fits_one_message() -> None:
    text = json.dumps({"type": "text_answer", "answer": 1, "text": "字" * 12_000}, ensure_ascii=False)
    assert isinstance(parse_message(text), TextAnswer)
    assert len(text.encode()) < 65_536


def test_a_nack_names_its_start_as_the_protocol_does() -> None:
    assert json.loads(Nack(answer=1, from_=7).model_dump_json()) == {"type": "nack", "answer": 1, "from": 7}


def test_every_close_code_says_whether_to_try_again() -> None:
    assert set(CLOSE_TABLE) == set(CloseCode)
    codes = live_protocol()["close_codes"]
    assert isinstance(codes, dict)
    assert codes["4409"] == {"retry": False, "spread_ms": 0}
    assert codes["1012"] == {"retry": True, "spread_ms": 5_000}
