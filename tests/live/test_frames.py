from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.live.close_codes import CloseCode, Refused
from apps.live.frames import (
    DISCONTINUITY,
    HEADER,
    LAST,
    MAX_MESSAGE_BYTES,
    decode_frame,
    encode_frame,
)

payloads = st.integers(min_value=320, max_value=8_000).map(lambda samples: b"\x12\x34" * samples)


@given(
    pcm=payloads,
    answer=st.integers(1, 2**32 - 1),
    seq=st.integers(0, 2**64 - 1),
    capture_us=st.integers(0, 2**64 - 1),
    flags=st.sampled_from([0, LAST, DISCONTINUITY, LAST | DISCONTINUITY]),
)
def test_a_frame_comes_out_as_it_went_in(
    pcm: bytes, answer: int, seq: int, capture_us: int, flags: int
) -> None:
    frame = decode_frame(encode_frame(pcm, answer=answer, seq=seq, capture_us=capture_us, flags=flags))
    assert (frame.answer, frame.seq, frame.capture_us, frame.flags) == (answer, seq, capture_us, flags)
    assert frame.pcm == pcm


@given(pcm=payloads, bit=st.integers(min_value=0), seq=st.integers(0, 1000))
def test_any_flipped_bit_is_noticed(pcm: bytes, bit: int, seq: int) -> None:
    raw = bytearray(encode_frame(pcm, answer=1, seq=seq, capture_us=5))
    bit %= len(raw) * 8
    raw[bit // 8] ^= 1 << bit % 8
    with pytest.raises(Refused) as refused:
        decode_frame(bytes(raw))
    assert refused.value.code == CloseCode.BAD_FRAME


@given(junk=st.binary(max_size=200))
def test_junk_is_refused_and_never_crashes(junk: bytes) -> None:
    with pytest.raises(Refused):
        decode_frame(junk)


def test_the_header_is_the_one_of_the_protocol() -> None:
    raw = encode_frame(b"\1\0" * 320, answer=2, seq=3, capture_us=4, flags=1)
    assert HEADER.size == 32
    assert raw[:32].hex() == "01010001000000020000000000000003000000000000000400000280" + raw[28:32].hex()


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (encode_frame(b"\1\0" * 1600 + b"\1", answer=1, seq=0, capture_us=0), "odd byte count"),
        (encode_frame(b"", answer=1, seq=0, capture_us=0), "less than 20 ms"),
        (encode_frame(b"\1\0" * 319, answer=1, seq=0, capture_us=0), "less than 20 ms"),
        (encode_frame(b"\1\0" * 8001, answer=1, seq=0, capture_us=0), "more than 500 ms"),
        (encode_frame(b"\1\0" * 1600, answer=0, seq=0, capture_us=0), "answer 0"),
        (encode_frame(b"\1\0" * 1600, answer=1, seq=0, capture_us=0, flags=4), "flags 4"),
        (b"\2" + encode_frame(b"\1\0" * 1600, answer=1, seq=0, capture_us=0)[1:], "version 2"),
        (b"\1\7" + encode_frame(b"\1\0" * 1600, answer=1, seq=0, capture_us=0)[2:], "type 7"),
        (encode_frame(b"\1\0" * 1600, answer=1, seq=0, capture_us=0)[:-2], "announced"),
        (b"", "no frame"),
    ],
)
def test_a_broken_frame_is_refused_with_its_reason(raw: bytes, why: str) -> None:
    with pytest.raises(Refused, match=why) as refused:
        decode_frame(raw)
    assert refused.value.code == CloseCode.BAD_FRAME


def test_a_short_frame_is_fine_when_it_is_the_last() -> None:
    assert decode_frame(encode_frame(b"\1\0" * 8, answer=1, seq=9, capture_us=0, flags=LAST)).samples == 8


def test_an_over_long_message_has_a_code_of_its_own() -> None:
    with pytest.raises(Refused) as refused:
        decode_frame(b"\1" * (MAX_MESSAGE_BYTES + 1))
    assert refused.value.code == CloseCode.TOO_LONG
