"""Who may not come in, and what closes a socket: each close code over a real socket."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import pytest
from django.utils import timezone
from websockets.exceptions import ConnectionClosed, InvalidStatus

from apps.interviews.models import Interview, Ticket
from apps.live.close_codes import CloseCode, Refused
from apps.live.origins import origin_allowed
from apps.live.registry import AT_THE_DOOR, Registry
from tests.live.stack import ANSWER, Page, Person, Server, wait_until
from tests.live.test_presence import Socket
from tests.live.wire import raw_frames, silence, speech

HOST = "viva.example.org"


@pytest.mark.parametrize(
    ("origin", "passes"),
    [
        ("https://viva.example.org", True),
        ("https://viva.example.org:443", True),
        ("http://viva.example.org", False),
        ("https://viva.example.org:9999", False),
        ("http://viva.example.org:9999", False),
        ("https://evil.example.org", False),
        ("https://viva.example.org.evil.com", False),
        ("https://viva.example.org@evil.com", False),
        ("https://evil.com/https://viva.example.org", False),
        ("null", False),
        ("", False),
        ("https://viva.example.org:port", False),
    ],
)
def test_only_the_exact_origin_passes(origin: str, passes: bool) -> None:
    allowed = ("https://viva.example.org",)
    assert origin_allowed(origin, HOST, allowed=allowed, same_host=True) is passes


def test_without_a_list_only_the_very_same_host_passes_and_only_on_a_laptop() -> None:
    def allowed(origin: str, same_host: bool = True) -> bool:
        return origin_allowed(origin, "localhost:8000", allowed=(), same_host=same_host)

    assert allowed("http://localhost:8000")
    assert not allowed("http://localhost:9999")
    assert not allowed("http://127.0.0.1:8000")
    assert not allowed("http://localhost:8000", same_host=False)


def test_a_foreign_page_gets_no_socket(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        Page(server, Person(), origin=f"http://127.0.0.1:{server.port + 1}")
    assert refused.value.response.status_code == 403


def test_an_unknown_path_is_refused_without_a_traceback(server: Server) -> None:
    with pytest.raises(InvalidStatus) as refused:
        Page(server, Person(), url=f"ws://127.0.0.1:{server.port}/ws/nothing/")
    assert refused.value.response.status_code == 403
    assert "Traceback" not in server.log.read_text()


def test_another_subprotocol_is_closed(server: Server) -> None:
    with Page(server, Person(), subprotocol="interview.v9") as page:
        assert page.close_code() == 4400


def test_without_a_hello_the_socket_is_closed_after_five_seconds(server: Server) -> None:
    began = time.monotonic()
    with Page(server, Person()) as page:
        assert page.close_code() == 4000
    assert time.monotonic() - began >= 5


def test_a_stranger_is_refused(server: Server) -> None:
    person = Person()
    with Page(server, person, cookie="sessionid=nobody") as page:
        page.say(type="hello", ticket=person.ticket())
        assert page.close_code() == 4401


def test_a_ticket_of_another_session_is_refused(server: Server) -> None:
    person, other = Person(), Person()
    with Page(server, person) as page:
        page.say(type="hello", ticket=other.ticket())
        assert page.close_code() == 4401
    with Page(server, other, cookie=person.cookie) as page:  # their interview, my session
        page.say(type="hello", ticket=person.ticket())
        assert page.close_code() == 4401


def test_sockets_that_say_nothing_are_bounded_too() -> None:
    sockets = Registry()
    for _ in range(2 * 3 + AT_THE_DOOR):
        sockets.arrive(Socket(), limit=3)
    with pytest.raises(Refused) as refused:
        sockets.arrive(Socket(), limit=3)
    assert refused.value.code == CloseCode.FULL


def test_a_ticket_works_once(server: Server) -> None:
    person = Person()
    ticket = person.ticket()
    with Page(server, person) as page:
        page.hello(ticket=ticket)
    with Page(server, person) as page:
        page.say(type="hello", ticket=ticket)
        assert page.close_code() == 4401


def test_a_ticket_older_than_thirty_seconds_is_refused(server: Server) -> None:
    person = Person()
    ticket = person.ticket()
    row = Ticket.objects.filter(interview=person.interview)
    assert ticket not in str(row.values()[0])  # only its hash is kept
    assert 25 < (row.get().expires_at - timezone.now()).total_seconds() <= 30
    row.update(expires_at=timezone.now() - timedelta(seconds=1))
    with Page(server, person) as page:
        page.say(type="hello", ticket=ticket)
        assert page.close_code() == 4401


def test_without_consent_nothing_starts(server: Server) -> None:
    person = Person(consented=False)
    with Page(server, person) as page:
        page.say(type="hello", ticket=person.ticket())
        assert page.close_code() == 4403
    assert Interview.objects.get(pk=person.interview.pk).status == "notice"


@pytest.mark.parametrize("rate", [0, 22_050, 96_000])
def test_a_rate_that_is_not_taken_is_refused_with_its_reason(server: Server, rate: int) -> None:
    person = Person()
    with Page(server, person) as page:
        page.say(type="hello", ticket=person.ticket(), rate=rate)
        assert page.close_code() == 4400
        assert page.of("problem")[-1]["code"] == "rate_unsupported"


def odd() -> bytes:
    return raw_frames(speech(0.1))[0] + b"\0"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (odd(), 4400),
        (b"RIFF" + bytes(100), 4400),
        (b"", 4400),
        (raw_frames(speech(0.1), answer=2)[0], 4400),
        (b"\1" * 65_536, 4400),
        (b"\1" * 65_537, 4413),
        (b"\1" * 131_072, 4413),
    ],
)
def test_a_bad_frame_closes_and_what_was_acknowledged_stays(server: Server, raw: bytes, code: int) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.stream(speech(0.5))
        page.acked(4)
        page.socket.send(raw)
        assert page.close_code() == code
    with Page(server, person) as page:
        assert page.hello()["next"] == 5


def test_audio_before_the_welcome_is_refused(server: Server) -> None:
    with Page(server, Person()) as page:
        page.stream(speech(0.1))
        assert page.close_code() == 4400


@pytest.mark.parametrize("text", ["x" * 65_537, "\u6211" * 40_000])
def test_an_over_long_message_is_closed_as_such_and_not_tried_again(server: Server, text: str) -> None:
    with Page(server, Person()) as page:
        page.hello()
        page.socket.send(text)
        assert page.close_code() == 4413


@pytest.mark.parametrize("text", ["no json", '{"type":"score","value":10}', '{"type":"hello"}'])
def test_a_message_of_no_known_kind_closes(server: Server, text: str) -> None:
    person = Person()
    with Page(server, person) as page:
        page.hello()
        page.socket.send(text)
        assert page.close_code() == 4400


def test_a_message_before_the_hello_is_never_processed(server: Server) -> None:
    person = Person()
    with Page(server, person) as page:
        page.say(type="finish")
        assert page.close_code() == 4400
    assert Interview.objects.get(pk=person.interview.pk).generation == 0


def test_the_same_frame_with_other_bytes_three_times_closes(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as page:
        page.hello()
        page.frame(speech(0.1), seq=0)
        page.acked(0)
        for n in range(3):
            page.frame(speech(0.1), seq=0, flags=2 if n % 2 else 1)
        assert page.close_code() == 4409
    with Page(server, person) as page:
        assert page.hello()["next"] == 1


def test_audio_far_faster_than_life_is_paused_and_then_refused(server: Server) -> None:
    with Page(server, Person(questions=1)) as page:
        page.hello()
        frames = raw_frames(silence(100.0))
        for raw in frames[:50]:
            page.socket.send(raw)
        page.acked(49)  # an idle machine refuses the flood before its first acknowledgement
        for raw in frames[50:]:
            try:
                page.socket.send(raw)
            except ConnectionClosed:
                break
        assert page.close_code() == 4408
        credits = [ack["upto"] + 1 + ack["window"] for ack in page.of("ack")]
        assert max(credits) <= 300 + 100  # thirty seconds at once, then only as fast as the allowance refills


def test_a_second_page_takes_over_and_the_first_one_is_told(server: Server) -> None:
    person = Person(questions=1)
    with Page(server, person) as first, Page(server, person) as second:
        first.hello()
        first.stream(speech(0.5))
        first.acked(4)
        assert second.hello()["next"] == 5
        assert first.close_code() == 4409
        second.until("answer.opened")
        second.say(type="text_answer", answer=1, text=ANSWER)
        second.until("committed")


def test_one_more_than_fit_is_sent_away_and_fits_once_one_leaves(server: Server) -> None:
    pages = [Page(server, Person()) for _ in range(6)]
    for page in pages:
        page.hello()
    person = Person()
    with Page(server, person) as late:
        late.say(type="hello", ticket=person.ticket())
        assert late.close_code() == 4429
    with Page(server, pages[0].person) as again:  # one's own place is no other place
        again.hello()
        assert pages[0].close_code() == 4409
        over = Person()
        Interview.objects.filter(pk=over.interview.pk).update(status="finished")
        with Page(server, over) as bringing:  # what is over needs no place of those that go on
            bringing.hello()
    wait_until(lambda: fits(server, person))
    for page in pages:
        page.__exit__()


def fits(server: Server, person: Person) -> bool:
    with Page(server, person) as page:
        page.say(type="hello", ticket=person.ticket())
        try:
            page.until("welcome")
        except ConnectionClosed:
            return False
    return True


def test_a_refusal_is_one_log_line_that_repeats_nothing(server: Server) -> None:
    with Page(server, Person()) as page:
        page.socket.send(json.dumps({"type": "text_answer", "answer": "my own words"}))
        assert page.close_code() == 4400
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "my own words" not in log
