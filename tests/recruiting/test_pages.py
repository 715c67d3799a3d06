"""What a recruiter sees: the list that filters, the answer with its quotes, the state of the analysis."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Organisation
from apps.assessment.passages import Passage, passages_of
from apps.assessment.services import report_rebuild, score_record
from apps.interviews.models import Interview
from apps.ops.models import Job
from apps.recruiting.listing import Listing, interviews_listed
from apps.recruiting.review import analysis_state
from tests.assessment import rows
from tests.recruiting.people import client_of, recruiter

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def acme() -> Organisation:
    return rows.organisation("Acme")


@pytest.fixture
def client(acme: Organisation) -> Client:
    return client_of(recruiter(acme))


def scored(acme: Organisation, value: float | None, name: str = "Wei Chen", **fields: object) -> Interview:
    interview = rows.interview(acme)
    interview.candidate.name = name
    interview.candidate.save()
    if value is not None:
        turn = rows.turn(interview, 1, **fields)
        score_record(
            turn=turn, assessment=rows.assessed(value), words=rows.words_of(rows.ANSWER), stage="live"
        )
    report_rebuild(interview=interview)
    return interview


def listed(acme: Organisation, query: str) -> list[Interview]:
    organisations = Organisation.objects.filter(pk=acme.pk)
    return list(interviews_listed(organisations, Listing.from_query(QueryDict(query))))


def test_the_list_sorts_by_score_and_puts_the_unscored_last(acme: Organisation) -> None:
    low, none, high = scored(acme, 3.0), scored(acme, None), scored(acme, 8.0)
    assert listed(acme, "sort=-score") == [high, low, none]
    assert listed(acme, "sort=score") == [low, high, none]


def test_the_list_filters_by_name_status_score_and_date(acme: Organisation) -> None:
    good, poor = scored(acme, 8.0, "Ada Byron"), scored(acme, 3.0, "Wei Chen")
    old = scored(acme, 8.0, "Old One")
    Interview.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=40))
    waiting = rows.interview(acme)
    Interview.objects.filter(pk=waiting.pk).update(status="notice", consented_at=None)
    assert listed(acme, "q=ada") == [good]
    assert listed(acme, "least=A&period=30") == [good]
    assert listed(acme, "status=notice") == [waiting]
    assert listed(acme, "") == [poor, good, old]


def test_a_candidate_without_a_name_has_a_short_one_that_can_be_searched(
    client: Client, acme: Organisation
) -> None:
    interview = scored(acme, 8.0, "")
    scored(acme, 8.0, "Somebody else")
    short = interview.candidate.public_id.hex[:6]
    assert f"Candidate {short}" in client.get(reverse("recruiting:interviews")).content.decode()
    in_chinese = client.get(reverse("recruiting:interviews"), headers={"Accept-Language": "zh-CN"})
    assert f"候选人 {short}" in in_chinese.content.decode()
    assert listed(acme, f"q=Candidate {short}") == [interview]
    assert listed(acme, f"q={short}") == [interview]


def test_nonsense_in_the_address_gives_the_plain_list(acme: Organisation) -> None:
    interview = scored(acme, 8.0)
    assert listed(acme, "sort=password&status=x&least=Z&period=-1&q=%00") == [interview]
    assert listed(acme, "sort=password&status=x&least=Z&period=-1") == [interview]


def test_a_column_sorts_the_other_way_the_second_time() -> None:
    listing = Listing.from_query(QueryDict("sort=-score&q=ada"))
    assert listing.sorted_by("score").query() == "q=ada&sort=score"
    assert listing.sorted_by("candidate").query() == "q=ada&sort=candidate"


def test_htmx_gets_the_table_and_a_browser_the_page(client: Client, acme: Organisation) -> None:
    scored(acme, 8.0)
    url = reverse("recruiting:interviews")
    assert "<html" not in client.get(url, headers=HTMX).content.decode()
    assert "<html" in client.get(url).content.decode()
    restored = client.get(url, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in restored.content.decode()


def test_the_list_comes_in_pages(client: Client, acme: Organisation) -> None:
    first = rows.interview(acme)
    for _ in range(26):
        first.pk, first.public_id = None, uuid.uuid4()
        first.save()
    url = reverse("recruiting:interviews")
    assert client.get(url).content.decode().count("data-row") == 25
    assert client.get(url, {"page": 2}).content.decode().count("data-row") == 2
    assert client.get(url, {"page": 99}).content.decode().count("data-row") == 2


def test_empty_lists_say_what_to_do_next(client: Client) -> None:
    url = reverse("recruiting:interviews")
    assert reverse("interviews:landing") in client.get(url, headers=HTMX).content.decode()
    assert "Show all interviews" in client.get(url, {"q": "x"}, headers=HTMX).content.decode()
    outside = client_of(recruiter(None)).get(url, headers=HTMX).content.decode()
    assert "Ask your operator" in outside


def test_the_number_of_queries_does_not_grow_with_the_list(
    client: Client, acme: Organisation, django_assert_max_num_queries: object
) -> None:
    for _ in range(12):
        scored(acme, 7.0)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        client.get(reverse("recruiting:interviews"))


def test_the_number_of_queries_does_not_grow_with_the_answers(client: Client, acme: Organisation) -> None:
    def queries(answers: int) -> int:
        interview = rows.interview(acme)
        for number in range(1, answers + 1):
            rows.turn(interview, number, transcript="Redis")
        with CaptureQueriesContext(connection) as taken:
            client.get(reverse("recruiting:interview", args=[interview.public_id]))
        return len(taken)

    assert queries(6) == queries(2)


def test_unsure_words_are_marked_where_they_stand(acme: Organisation) -> None:
    turn = rows.turn(rows.interview(acme), 1, transcript="We used Kafka. It held.")
    sure = {"start_s": 0.0, "end_s": 1.0, "confidence": 0.9}
    words = [{"text": text, **sure} for text in ("We", "used")]
    words.append({"text": "Kafka.", "start_s": 1.0, "end_s": 2.0, "confidence": 0.3})
    turn.utterances.create(number=1, text="We used Kafka.", words=words, start_s=0, end_s=2)
    turn.utterances.create(
        number=2, text="It held.", words=[], start_s=2, end_s=3, low_confidence=True, confidence=0.2
    )
    assert passages_of(turn) == [
        Passage("We used "),
        Passage("Kafka.", True, 1.0),
        Passage(" "),
        Passage("It held.", True, 2.0),
    ]


def test_a_name_put_right_shows_what_was_heard(acme: Organisation) -> None:
    interview = rows.interview(acme)
    turn = rows.turn(interview, 1, transcript="We used Redis.")
    time = {"start_s": 0.0, "end_s": 1.0, "confidence": 0.3}
    words = [{"text": text, **time, "confidence": 0.9} for text in ("We", "used")]
    words.append({"text": "Redis.", **time, "heard": "<riddies>"})
    turn.utterances.create(number=1, text="We used Redis.", words=words, start_s=0, end_s=2)
    assert passages_of(turn) == [Passage("We used "), Passage("Redis.", False, 0.0, heard="<riddies>")]
    page = client_of(recruiter(acme)).get(f"/recruiting/interviews/{interview.public_id}/").content.decode()
    assert "Heard: “&lt;riddies&gt;”" in page
    assert '<span class="put-right"' in page


def test_the_words_of_the_second_decode_count_where_there_are_any(acme: Organisation) -> None:
    turn = rows.turn(rows.interview(acme), 1, transcript="Redis")
    turn.utterances.create(number=1, text="Reddish", start_s=0, end_s=1, low_confidence=True)
    turn.utterances.create(number=1, text="Redis", start_s=0, end_s=1, decode="full", confidence=0.9)
    assert passages_of(turn) == [Passage("Redis")]


def test_an_interview_shows_words_scores_and_quotes_that_play(client: Client, acme: Organisation) -> None:
    interview = scored(acme, 7.8, audio_path="a.wav")
    turn = interview.turns.get()
    deep = rows.assessed(8.2, flags=("injection",))
    score_record(
        turn=turn, assessment=deep, words=rows.words_of(rows.ANSWER), stage="deep", low_confidence=True
    )
    page = client.get(reverse("recruiting:interview", args=[interview.public_id])).content.decode()
    assert 'data-audio="audio-1" data-start-s="2.5" data-end-s="4.5">▶ fell by forty percent' in page
    assert "7.8 →" in page
    assert "8.2" in page
    assert "Speaks to the grader" in page
    assert "needs a human" in page


def test_what_somebody_said_is_never_markup(client: Client, acme: Organisation) -> None:
    text = "<script>alert(1)</script> I cached the catalogue."
    interview = scored(acme, 7.8, name="<b>Eve</b>", transcript=text)
    page = client.get(reverse("recruiting:interview", args=[interview.public_id])).content.decode()
    assert "<script>alert(1)" not in page
    assert "<b>Eve" not in page


def test_the_chinese_pages_are_chinese(client: Client, acme: Organisation) -> None:
    scored(acme, 8.0)
    page = client.get(reverse("recruiting:interviews"), headers={"Accept-Language": "zh-hans"})
    assert 'lang="zh-Hans"' in page.content.decode()


def test_an_unscored_interview_shows_a_dash_and_no_zero(client: Client, acme: Organisation) -> None:
    interview = rows.interview(acme)
    rows.turn(interview, 1, status="unscored", transcript="")
    report_rebuild(interview=interview)
    page = client.get(reverse("recruiting:interview", args=[interview.public_id])).content.decode()
    assert "No score" in page
    assert "0.0" not in page


def state_of(interview: Interview, status: str, reason: str = "") -> str:
    Job.objects.update_or_create(
        kind="analyse_interview",
        subject_id=interview.pk,
        defaults={"organisation_id": interview.organisation_id, "status": status, "reason": reason},
    )
    return analysis_state(interview).state


def test_the_analysis_is_followed_from_before_to_failed(acme: Organisation) -> None:
    interview = scored(acme, 7.8)
    assert analysis_state(interview).state == "before"
    assert [state_of(interview, status) for status in ("queued", "running", "done", "dead")] == [
        "waiting",
        "running",
        "done",
        "failed",
    ]


def test_a_waiting_page_asks_again_and_reloads_when_there_is_news(client: Client, acme: Organisation) -> None:
    interview = scored(acme, 7.8)
    url = reverse("recruiting:analysis", args=[interview.public_id])
    state_of(interview, "running")
    running = client.get(url, headers=HTMX)
    assert 'hx-trigger="every 3s"' in running.content.decode()
    assert "0 of 1 answers" in running.content.decode()
    state_of(interview, "done")
    assert client.get(url, headers=HTMX)["HX-Refresh"] == "true"


def test_a_timed_out_analysis_says_so_and_offers_another_try(client: Client, acme: Organisation) -> None:
    interview = scored(acme, 7.8)
    assert state_of(interview, "timeout", "timeout") == "timed_out"
    page = client.get(reverse("recruiting:interview", args=[interview.public_id])).content.decode()
    assert "timed out" in page
    assert reverse("recruiting:analysis_retry", args=[interview.public_id]) in page


def late_audio_of_first(interview: Interview, status: str) -> None:
    interview.turns.update(late_s=8.0)
    Job.objects.update_or_create(
        kind="correct_answer",
        subject_id=interview.turns.get().pk,
        defaults={
            "organisation_id": interview.organisation_id,
            "status": status,
            "reason": "EngineUnavailable",
        },
    )


def test_late_audio_that_could_not_be_heard_can_be_tried_again(client: Client, acme: Organisation) -> None:
    interview = scored(acme, 5.2)
    state_of(interview, "done")
    late_audio_of_first(interview, "dead")
    page = client.get(reverse("recruiting:interview", args=[interview.public_id])).content.decode()
    retry = reverse("recruiting:correction_retry", args=[interview.public_id, 1])
    assert "It could not be heard yet." in page
    assert retry in page
    assert client.post(retry).status_code == 302
    assert Job.objects.get(kind="correct_answer").status == "queued"
    assert "Nothing to try again: the late audio" in client.post(retry, follow=True).content.decode()


def test_the_page_asks_again_while_late_audio_is_heard(client: Client, acme: Organisation) -> None:
    interview = scored(acme, 5.2)
    url = reverse("recruiting:analysis", args=[interview.public_id])
    state_of(interview, "done")
    late_audio_of_first(interview, "queued")
    waiting = client.get(url, headers=HTMX).content.decode()
    assert 'hx-trigger="every 3s"' in waiting
    assert "Late audio of 1 answer is being heard" in waiting
    late_audio_of_first(interview, "dead")
    assert client.get(url, headers=HTMX)["HX-Refresh"] == "true"


def test_a_recruiter_sees_what_late_audio_changed_and_what_is_still_to_come(
    client: Client, acme: Organisation
) -> None:
    interview = scored(acme, 5.2)
    page = reverse("recruiting:interview", args=[interview.public_id])
    interview.turns.update(audio_complete=False)
    assert "Audio incomplete: waiting for the rest" in client.get(page).content.decode()
    interview.turns.update(audio_complete=True, missing=[{"at_s": 1.0, "seconds": 3.2, "why": "lost"}])
    late_audio_of_first(interview, "done")
    interview.turns.get().corrections.create(
        sha256="1" * 64, late_s=8.0, value_before="5.2", value_after="6.1",
        transcript_before="I cached", transcript_after="I cached it",
    )  # fmt: skip
    shown = " ".join(client.get(page).content.decode().split())
    assert "8 s of audio arrived late. Transcript and score were corrected: 5.2 → 6.1" in shown
    assert "<ins>it</ins>" in shown
    assert "[audio missing 3.2 s]" in shown


def test_audio_is_served_in_parts(
    client: Client, acme: Organisation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "MEDIA_ROOT", tmp_path)
    (tmp_path / "a.wav").write_bytes(bytes(range(100)))
    interview = rows.interview(acme)
    rows.turn(interview, 1, audio_path="a.wav")
    url = reverse("recruiting:audio", args=[interview.public_id, 1])
    response = client.get(url, headers={"Range": "bytes=10-19"})
    assert (response.status_code, response["Content-Range"]) == (206, "bytes 10-19/100")
    assert response.getvalue() == bytes(range(10, 20))
