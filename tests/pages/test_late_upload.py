"""Sound that a closed page left on the device reaches the server later, or is erased with the interview."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from playwright.async_api import expect

from apps.interviews.models import Interview
from tests.pages.browser import SPEECH, chromium, playing, shot, speak, visitor
from tests.pages.captured import (
    WORDS_S,
    all_saved,
    interview_of,
    kept_s,
    recording_of,
    speaking_through_a_proxy,
)
from tests.pages.visit import Site

pytestmark = pytest.mark.browser

EXPIRE = """
import time
from apps.interviews.models import Interview
from apps.live.expiry import interview_expired
from apps.live.spool import SpoolBusyError
row = Interview.objects.filter(public_id="{interview}")
for _ in range(120):
    try:
        interview_expired(row.get().pk)
    except SpoolBusyError:
        pass  # the server has not yet let go of the page that went
    if row.get().status == "finished":
        break
    time.sleep(0.5)
else:
    raise SystemExit("still open")
"""
KEPT = """async () => {
  const { interviewsKept } = await import("/static/js/store.js");
  return (await interviewsKept()).length;
}"""


@pytest.mark.model
async def test_the_rest_of_a_recording_is_sent_after_the_interview_is_over(
    site_server: Site, model_dir: Path
) -> None:
    async with speaking_through_a_proxy(site_server) as (page, proxy, captured):
        interview = await interview_of(page)
        proxy.hole(on=True)
        await kept_s(page, 1)
        before = len(captured.frames)
        await kept_s(page, 9)
        later = await page.context.new_page()
        await page.close()
        proxy.hole(on=False)
        site_server.manage("shell", "-c", EXPIRE.format(interview=interview))
        await later.goto(proxy.url)
        sent = "The rest of your recording was sent."
        await expect(later.locator("#late")).to_have_text(sent, timeout=WORDS_S)
        await shot(later, "late-landing")
        pcm = await recording_of(later, interview)
        head, end = captured.run_in(pcm)
        assert captured.length(head, end) == len(pcm)
        assert end >= before
        assert await later.evaluate(KEPT) == 0


@pytest.mark.django_db
def test_the_report_sends_the_rest_of_its_own_recording(client: Client, interview: Interview) -> None:
    interview.status, interview.finished_at = Interview.Status.FINISHED, timezone.now()
    interview.save()
    for url in (f"/interviews/{interview.public_id}/report/", "/"):
        page = client.get(url).content.decode()
        assert "js/late_upload.js" in page
        assert re.search(rf'id="late"[^>]*data-finished="{interview.public_id.hex} ?"', page)


@pytest.mark.model
async def test_a_deleted_interview_leaves_nothing_on_the_device(site_server: Site, model_dir: Path) -> None:
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await speak(page, site_server.address)
        await all_saved(page)
        assert await page.evaluate(KEPT) == 1
        await page.click("#finish")
        await page.click("#finish-dialog a")
        await page.click("button.danger")
        await expect(page.locator(".messages")).to_contain_text("deleted")
        for _ in range(100):
            if await page.evaluate(KEPT) == 0:
                return
            await page.wait_for_timeout(200)
        raise AssertionError("frames of a deleted interview stay on the device")
