"""The candidate's report: kind order, honest gaps, quotes that play their words."""

from __future__ import annotations

import html
import re
import time
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.assessment.models import Correction, Evidence, Report, Score
from apps.assessment.passages import passages_of
from apps.assessment.services import report_rebuild
from apps.interviews.models import Interview, Turn, Utterance
from apps.ops.models import Job

HTMX = {"HX-Request": "true"}


@pytest.fixture
def finished(interview: Interview) -> Interview:
    """One answer with a score, one question skipped."""
    first, second = interview.template.questions.all()
    turn = Turn.objects.create(
        interview=interview, number=1, question=first, question_text=first.text, status="answered",
        transcript="I cut the latency by forty percent", audio_path="a/0001.wav", audio_s=9.0,
    )  # fmt: skip
    words = [
        {"text": text, "start_s": at, "end_s": at + 0.4, "confidence": 0.2 if text == "latency" else 0.9}
        for at, text in enumerate(turn.transcript.split())
    ]
    Utterance.objects.create(turn=turn, number=1, text=turn.transcript, words=words, start_s=0, end_s=9)
    score = Score.objects.create(
        turn=turn, value="7.9", grade="A", source="rules", weakness="Say <b>why</b>.", pace=140, fillers=1
    )
    quotes = [
        {"text": "forty percent", "start_s": 5.0, "end_s": 6.4},
        {"text": "the latency", "start_s": None},
    ]
    Evidence.objects.create(
        score=score, dimension="evidence", value="8.5", weight=0.25, comment="A number.", quotes=quotes
    )
    Turn.objects.create(
        interview=interview, number=2, question=second, question_text=second.text, status="skipped"
    )
    interview.status = Interview.Status.FINISHED
    interview.save()
    return interview


def page_of(client: Client, interview: Interview, **headers: str) -> str:
    return client.get(f"/interviews/{interview.public_id}/report/", headers=headers).content.decode()


def test_what_to_try_next_comes_before_any_number(client: Client, finished: Interview) -> None:
    report_rebuild(interview=finished)
    page = page_of(client, finished)
    assert page.index("What to try next") < page.index("In numbers") < page.index("Answer by answer")
    assert "Answered and scored: 1 of 2 questions<br>" in page


def test_what_a_person_said_is_never_markup(client: Client, finished: Interview) -> None:
    page = page_of(client, finished)
    assert "Say &lt;b&gt;why&lt;/b&gt;." in page
    assert "<b>why</b>" not in page


def test_a_quote_plays_its_words_where_their_time_is_known(client: Client, finished: Interview) -> None:
    page = page_of(client, finished)
    assert 'data-start="5.0" data-end="6.4"' in page
    assert '<q class="quote">the latency</q>' in page


def test_times_stay_numbers_in_every_language(client: Client, finished: Interview) -> None:
    client.post("/i18n/setlang/", {"language": "zh-hans"})
    assert 'data-start="5.0" data-end="6.4"' in page_of(client, finished)


def test_a_skipped_question_is_named_and_not_scored(client: Client, finished: Interview) -> None:
    assert "You skipped this question. It does not enter the score." in page_of(client, finished)


def test_a_question_that_finishing_cut_short_is_not_called_skipped(
    client: Client, finished: Interview
) -> None:
    finished.turns.filter(number=2).update(end_reason="finished")
    page = page_of(client, finished)
    assert "You finished before this question" in page
    assert "You skipped" not in page


def test_follow_ups_are_counted_apart(client: Client, finished: Interview) -> None:
    first = finished.template.questions.all()[0]
    turn = Turn.objects.create(
        interview=finished,
        number=3,
        question=first,
        question_text="Why?",
        status="answered",
        kind="follow_up",
    )
    Score.objects.create(turn=turn, value="6.0", grade="B", source="rules")
    report_rebuild(interview=finished)
    assert "Answered and scored: 1 of 2 questions and 1 follow-up<br>" in page_of(client, finished)
    client.post("/i18n/setlang/", {"language": "zh-hans"})
    assert "2 题中的 1 题，另有 1 个追问" in page_of(client, finished)


def test_details_of_a_score_are_folded_and_the_weakness_is_not(client: Client, finished: Interview) -> None:
    page = page_of(client, finished)
    folded = page[
        page.index('<details class="evidence-details" id="details-1">') : page.index(
            "</details>", page.index("evidence-details")
        )
    ]
    assert "A number." in folded
    assert "Say &lt;b&gt;why" not in folded


def test_unclear_words_are_marked(finished: Interview) -> None:
    passages = passages_of(finished.turns.get(number=1))
    assert [(passage.text, passage.unsure) for passage in passages] == [
        ("I cut the ", False), ("latency", True), (" by forty percent", False)
    ]  # fmt: skip


def test_a_name_put_right_shows_what_was_heard(client: Client, finished: Interview) -> None:
    utterance = finished.turns.get(number=1).utterances.get()
    for word in utterance.words:
        word["heard"] = "latent sea" if word["text"] == "latency" else ""
    utterance.save()
    page = page_of(client, finished)
    assert "Heard: “latent sea”" in page
    assert '<span class="put-right"' in page


def test_while_the_second_reading_runs_the_page_asks_again(client: Client, finished: Interview) -> None:
    assert 'hx-trigger="every 2s"' in page_of(client, finished)
    waiting = client.get(f"/interviews/{finished.public_id}/report/", headers=HTMX)
    assert (waiting.status_code, waiting.content) == (204, b"")


def test_the_final_report_replaces_the_body_and_ends_the_asking(client: Client, finished: Interview) -> None:
    report_rebuild(interview=finished, status=Report.Status.FINAL)
    body = page_of(client, finished, **HTMX)
    assert body.strip().startswith('<div id="report-body">')
    assert "hx-get" not in body
    assert "<html" not in body


def test_a_failed_second_reading_is_said(client: Client, finished: Interview) -> None:
    report_rebuild(interview=finished, status=Report.Status.FAILED, reason="timeout")
    assert "did not work" in page_of(client, finished)


def test_after_two_minutes_the_page_offers_to_look_again(client: Client, finished: Interview) -> None:
    since = int(time.time()) - 121
    address = f"/interviews/{finished.public_id}/report/?since={since}"
    body = client.get(address, headers=HTMX).content.decode()
    assert "Look again" in body
    assert "hx-get" not in body


@pytest.mark.parametrize("since", ["", "-5", "x", "9" * 40, "1e400"])
def test_any_since_is_taken_or_ignored(client: Client, finished: Interview, since: str) -> None:
    address = f"/interviews/{finished.public_id}/report/?since={since}"
    assert client.get(address, headers=HTMX).status_code in {200, 204}


def test_an_interview_without_answers_has_a_report_that_says_so(client: Client, interview: Interview) -> None:
    interview.status = Interview.Status.FINISHED
    interview.save()
    page = page_of(client, interview)
    assert "no answer could be scored" in page
    assert "In numbers" not in page


def test_a_running_interview_has_no_report_yet(client: Client, interview: Interview) -> None:
    assert (
        client.get(f"/interviews/{interview.public_id}/report/")["Location"]
        == f"/interviews/{interview.public_id}/"
    )


def late(interview: Interview, status: str = "done", **correction: object) -> Turn:
    """The first answer after 8 s of its audio came late."""
    turn = interview.turns.get(number=1)
    Turn.objects.filter(pk=turn.pk).update(late_s=8.0)
    Job.objects.create(
        organisation_id=interview.organisation_id, kind="correct_answer", subject_id=turn.pk, status=status
    )
    if correction:
        Correction.objects.create(turn=turn, sha256="1" * 64, late_s=8.0, **correction)
    return turn


def test_what_late_audio_changed_is_shown_with_the_words(client: Client, finished: Interview) -> None:
    report_rebuild(interview=finished, status=Report.Status.FINAL)
    late(
        finished, value_before="5.2", value_after="6.1",
        transcript_before="I cut latency", transcript_after="I cut latency by <half>",
    )  # fmt: skip
    page = page_of(client, finished)
    told = " ".join(page.split())
    assert "8 s of audio arrived late. Transcript and score were corrected: 5.2 → 6.1" in told
    assert "I cut latency<ins>" not in page  # a space stays where words are apart
    assert "<ins>by &lt;half&gt;</ins>" in page
    client.post("/i18n/setlang/", {"language": "zh-hans"})
    told = " ".join(page_of(client, finished).split())
    assert "有 8 秒录音晚到。 文字和分数已更正：5.2 → 6.1" in told


@pytest.mark.parametrize(
    ("after", "value", "said"),
    [
        ("other words", "5.2", "The transcript was corrected, the score is the same."),
        ("I cut latency", "5.2", "It changed neither transcript nor score."),
    ],
)
def test_late_audio_that_changed_less_says_so(
    client: Client, finished: Interview, after: str, value: str, said: str
) -> None:
    late(
        finished, value_before="5.2", value_after=value,
        transcript_before="I cut latency", transcript_after=after,
    )  # fmt: skip
    assert said in page_of(client, finished)


def test_a_first_score_from_late_audio_has_no_score_before(client: Client, finished: Interview) -> None:
    late(finished, value_before=None, value_after="6.1", transcript_before="", transcript_after="a")
    assert "corrected: – → 6.1" in page_of(client, finished)


def test_an_incomplete_answer_says_what_is_waited_for_and_asks_until_it_is_there(
    client: Client, finished: Interview
) -> None:
    report_rebuild(interview=finished, status=Report.Status.FINAL)
    finished.turns.filter(number=1).update(audio_complete=False)
    page = page_of(client, finished)
    assert "Audio incomplete: waiting for the rest from your device." in page
    asked = re.search(r'hx-get="([^"]+seen=[^"]+)" hx-trigger="every 5s"', page)
    assert asked is not None
    address = html.unescape(asked[1])
    assert client.get(address, headers=HTMX).status_code == 204
    finished.turns.filter(number=1).update(audio_complete=True)
    late(finished, status="queued")
    body = client.get(address, headers=HTMX).content.decode()
    assert "It is being heard" in body
    finished.turns.filter(number=1).update(late_s=0)
    assert "hx-get" not in client.get(address, headers=HTMX).content.decode()


def test_audio_that_did_not_come_within_a_day_is_no_longer_waited_for(
    client: Client, finished: Interview
) -> None:
    report_rebuild(interview=finished, status=Report.Status.FINAL)
    ended_at = timezone.now() - timedelta(hours=25)
    finished.turns.filter(number=1).update(audio_complete=False, ended_at=ended_at)
    page = page_of(client, finished)
    assert "the rest never came" in page
    assert "hx-get" not in page


def test_a_body_that_was_missed_can_be_had_again(client: Client, finished: Interview) -> None:
    report_rebuild(interview=finished, status=Report.Status.FINAL)
    finished.turns.filter(number=1).update(audio_complete=False)
    first, again = (page_of(client, finished, **HTMX) for _ in range(2))
    assert "Audio incomplete" in first
    assert first.split("since=")[0] == again.split("since=")[0]


def test_the_asking_for_late_audio_ends(client: Client, finished: Interview) -> None:
    report_rebuild(interview=finished, status=Report.Status.FINAL)
    finished.turns.filter(number=1).update(audio_complete=False)
    address = f"/interviews/{finished.public_id}/report/?since={int(time.time()) - 901}"
    assert "hx-get" not in client.get(address, headers=HTMX).content.decode()


def test_late_audio_that_could_not_be_heard_is_said(client: Client, finished: Interview) -> None:
    late(finished, status="dead")
    page = page_of(client, finished)
    assert "It could not be heard yet." in page
    assert "Try again" not in page  # that is for the recruiter


def test_missing_audio_stands_at_its_place_in_the_words(client: Client, finished: Interview) -> None:
    holes = [{"at_s": 2.5, "seconds": 3.0, "why": "lost"}, {"at_s": 2.5, "seconds": 0.2, "why": "full"}]
    finished.turns.filter(number=1).update(missing=holes)
    passages = passages_of(finished.turns.get(number=1))
    assert [(p.text, p.missing_s) for p in passages] == [
        ("I cut the", 0), ("", 3.2), (" ", 0), ("latency", 0), (" by forty percent", 0)
    ]  # fmt: skip
    page = page_of(client, finished)
    assert "[audio missing 3.2 s]" in page
    client.post("/i18n/setlang/", {"language": "zh-hans"})
    assert "[缺少 3.2 秒录音]" in page_of(client, finished)


def test_holes_before_the_first_word_and_after_the_last_are_shown(finished: Interview) -> None:
    holes = [{"at_s": 9.0, "seconds": 2.0, "why": "lost"}, {"at_s": 0.0, "seconds": 1.0, "why": "lost"}]
    finished.turns.filter(number=1).update(missing=holes)
    passages = passages_of(finished.turns.get(number=1))
    assert [passages[0].missing_s, passages[-1].missing_s] == [1.0, 2.0]
    assert "".join(passage.text for passage in passages) == "I cut the latency by forty percent"


def test_an_answer_of_missing_audio_alone_shows_it(client: Client, finished: Interview) -> None:
    Turn.objects.filter(interview=finished, number=1).update(
        transcript="", missing=[{"at_s": 0.0, "seconds": 12.0, "why": "lost"}]
    )
    assert "[audio missing 12 s]" in page_of(client, finished)
