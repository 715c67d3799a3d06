"""How the pages look in each width, language and theme, from a scripted socket. See var/screenshots."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import WebSocketRoute, expect

from inference.events import DURABLE, EVENT
from tests.pages.browser import SPEECH, agree, chromium, overflow, playing, shot, top_of, visitor

pytestmark = pytest.mark.browser

QUESTION = {
    "en": "Tell me about a time you solved a hard technical problem.",
    "zh": "请讲一个你解决过的最难的技术问题。",
}
ANSWER = {
    "en": (
        "Last year our payment service timed out every Friday evening. I profiled the queries and found a "
        "missing index.",
        " I added it and put a cache in front of the price lookup. Latency fell by forty percent.",
    ),
    "zh": (
        "去年我们的支付服务每到周五晚上就超时，我负责排查。我用慢查询日志定位到一个缺失的索引。",
        "加上之后又在价格查询前面放了一层缓存，延迟下降了百分之四十。",
    ),
}
WEAKNESS = {
    "en": "You say what you did, but not why you chose the cache: name one alternative and why you left it.",
    "zh": "你讲清了做法和结果，但没有说明为什么选缓存：补一个备选方案和放弃它的理由。",
}
FOLLOW_UP = {
    "en": "What other options did you weigh before the cache, and why did you drop them?",
    "zh": "在选择缓存之前，你还考虑过哪些方案，为什么没有采用？",
}
UNCLEAR = {"en": "payment", "zh": "支付"}
COMMENT = {"en": "There is a figure and an effect that lasts.", "zh": "有数字，也有持续的效果。"}


class ScriptedServer:
    """Answers hello, acknowledges frames, says what the test tells it to. Its events are real ones."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.question = {
            "turn": 1, "text": QUESTION[language], "number": 1, "total": 5, "kind": "main", "limit_s": 180
        }  # fmt: skip
        self.eid = 0
        self.route: WebSocketRoute | None = None

    def connected(self, route: WebSocketRoute) -> None:
        self.route = route
        route.on_message(self.heard)

    def heard(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            upto = int.from_bytes(message[8:16])
            self.tell({"type": "ack", "answer": int.from_bytes(message[4:8]), "upto": upto, "window": 100})
        elif json.loads(message)["type"] == "hello":
            self.tell(self.welcome())
            self.say({"type": "session.ready", "mode": "voice"})
            self.say({"type": "question.asked", **self.question})
            self.say({"type": "answer.opened", "turn": 1})

    def welcome(self) -> dict[str, Any]:
        turn = {**self.question, "elapsed_s": 0}
        return {
            "type": "welcome", "epoch": "e", "gen": 1, "answer": 1, "next": 0, "window": 100, "frame_ms": 100,
            "hb_ms": 5000, "idle_ms": 30000, "max_answer_s": 900, "resume_token": "",
            "snapshot": {"status": "live", "mode": "voice", "turn": turn},
        }  # fmt: skip

    def say(self, event: dict[str, Any]) -> None:
        """As the server does: only what is stored has a number."""
        said = EVENT.validate_python(event)
        if isinstance(said, DURABLE):
            self.eid += 1
            said = said.model_copy(update={"eid": self.eid})
        self.tell(said.model_dump(mode="json"))

    def tell(self, message: dict[str, Any]) -> None:
        assert self.route is not None
        self.route.send(json.dumps(message))

    def speaking(self) -> None:
        settled, guess = ANSWER[self.language]
        word = {"text": UNCLEAR[self.language], "start_s": 1, "end_s": 2, "confidence": 0.3}
        self.say({"type": "speech.started", "turn": 1, "at_s": 0.3})
        self.say(
            {"type": "transcript.final", "turn": 1, "utterance": 1, "text": settled, "words": [word],
             "start_s": 0, "end_s": 5, "language": self.language}
        )  # fmt: skip
        self.say({"type": "transcript.partial", "turn": 1, "utterance": 2, "text": guess, "stable_chars": 12})

    def paused(self) -> None:
        self.say({"type": "turn.paused", "turn": 1, "at_s": 10, "speech_end_s": 9})
        self.reading(1, 6.4, "B", provisional=True)

    def ended(self) -> None:
        self.say({"type": "turn.ended", "turn": 1, "reason": "silence", "at_s": 12, "speech_end_s": 9})
        self.say({"type": "feedback.started", "turn": 1, "rev": 2, "provisional": False})

    def judged(self) -> None:
        self.reading(2, 8.1, "A", provisional=False)
        self.say(
            {"type": "question.follow_up", "turn": 1, "text": FOLLOW_UP[self.language], "source": "rules"}
        )

    def reading(self, rev: int, value: float, grade: str, *, provisional: bool) -> None:
        common = {"turn": 1, "rev": rev}
        score = {"value": value, "grade": grade, "provisional": provisional, "source": "rules"}
        self.say({"type": "feedback.score", **common, **score})
        for piece in WEAKNESS[self.language].split(" "):
            text = f"{piece} " if self.language == "en" else piece
            self.say({"type": "feedback.delta", **common, "part": "weakness", "text": text})
        for name in () if provisional else ("relevance", "structure", "evidence", "ownership", "clarity"):
            detail = {"part": "detail", "dimension": name, "text": COMMENT[self.language], "value": 7.8}
            quotes = [ANSWER[self.language][0][:24]]
            self.say({"type": "feedback.delta", **common, **detail, "quotes": quotes})
        self.say({"type": "feedback.done", **common, "outcome": "complete", "provisional": provisional})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_pages_fit_and_settle(site: str, language: str, width: int, scheme: str) -> None:
    tag = f"{language}-{width}-{scheme}"
    server = ScriptedServer(language)
    async with (
        chromium(*playing(SPEECH)) as browser,
        visitor(browser, width=width, language=language, scheme=scheme) as page,
    ):

        async def look(name: str, *, full: bool = False) -> None:
            assert await overflow(page) == 0, f"{name} is wider than {width} px"
            await shot(page, f"{tag}-{name}", full=full)

        await page.route_web_socket("**/ws/**", server.connected)
        await page.goto(site)
        await look("1-landing", full=True)
        await agree(page, site, interview=language)
        await page.go_back()
        await look("2-notice", full=True)
        await page.go_forward()
        await page.click("#turn-on")
        await expect(page.locator("#device-field")).to_be_visible(timeout=10_000)
        await look("3-microphone", full=True)
        await page.click("#start")
        await expect(page.locator("#question")).to_have_text(QUESTION[language])
        await look("4-question")
        server.speaking()
        await expect(page.locator("#words .unclear")).to_have_text(UNCLEAR[language])
        await expect(page.locator("#words .guess")).not_to_be_empty()
        await look("5-speaking")
        server.paused()
        await expect(page.locator("#feedback")).to_have_attribute("data-state", "provisional")
        await look("6-provisional")
        top = await top_of(page, "[data-dimension=clarity]")
        server.ended()
        analysing = "Analysing your answer…" if language == "en" else "正在分析你的回答…"
        await expect(page.locator("#state")).to_have_text(analysing)
        await look("7-analysing")
        server.judged()
        await expect(page.locator("#weakness-text")).to_have_text(WEAKNESS[language])
        await expect(page.locator("[data-dimension=clarity] .comment")).to_have_text(COMMENT[language])
        if width > 600:
            after = await top_of(page, "[data-dimension=clarity]")
            assert abs(after - top) < 60, "the panel jumped"
        await look("8-judged")
        server.say({**server.question, "type": "question.asked", "turn": 2, "text": FOLLOW_UP[language],
                    "kind": "follow_up"})  # fmt: skip
        server.say({"type": "answer.opened", "turn": 2})
        await expect(page.locator("#question")).to_have_text(FOLLOW_UP[language])
        await expect(page.locator(".earlier-answer")).to_be_attached()
        await page.click("#type")
        await expect(page.locator("#typed")).to_be_focused()
        await look("9-typing")


async def test_lower_revs_are_dropped_and_withdrawn_ones_disappear(site: str) -> None:
    server = ScriptedServer("en")
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await page.route_web_socket("**/ws/**", server.connected)
        await agree(page, site)
        await page.click("#turn-on")
        await expect(page.locator("#start")).to_be_visible(timeout=10_000)
        await page.click("#start")
        await expect(page.locator("#question")).to_have_text(QUESTION["en"])
        server.speaking()
        server.reading(3, 6.4, "B", provisional=True)
        server.reading(2, 1.0, "E", provisional=False)
        await expect(page.locator("#score-value")).to_have_text("6.4")
        server.say({"type": "feedback.withdrawn", "turn": 1, "rev": 3})
        await expect(page.locator("#score-value")).to_have_text("–")
        server.reading(3, 6.4, "B", provisional=True)
        await expect(page.locator("#score-value")).to_have_text("–")
        server.reading(4, 7.7, "A", provisional=False)
        await expect(page.locator("#score-value")).to_have_text("7.7")
        await expect(page.locator("#feedback")).to_have_attribute("data-state", "final")


async def test_what_is_heard_is_text_and_never_markup(site: str) -> None:
    server = ScriptedServer("en")
    hostile = "<img src=x onerror=alert(1)>"
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await page.route_web_socket("**/ws/**", server.connected)
        await agree(page, site)
        await page.goto(page.url.replace("microphone/", "?input=text"))
        await expect(page.locator("#question")).to_have_text(QUESTION["en"])
        final = {"turn": 1, "utterance": 1, "text": hostile, "start_s": 0, "end_s": 1}
        server.say({"type": "transcript.final", **final})
        server.say({"type": "feedback.delta", "turn": 1, "rev": 1, "part": "weakness", "text": hostile})
        await expect(page.locator("#weakness-text")).to_have_text(hostile)
        await expect(page.locator("#words")).to_contain_text(hostile)
        assert await page.locator("main img").count() == 0


async def test_what_is_typed_follows_what_was_said_and_does_not_repeat_it(site: str) -> None:
    server = ScriptedServer("en")
    async with chromium(*playing(SPEECH)) as browser, visitor(browser) as page:
        await page.route_web_socket("**/ws/**", server.connected)
        await agree(page, site)
        await page.click("#turn-on")
        await expect(page.locator("#start")).to_be_visible(timeout=10_000)
        await page.click("#start")
        await expect(page.locator("#question")).to_have_text(QUESTION["en"])
        server.speaking()
        said = page.locator("#words")
        await expect(said).to_contain_text(ANSWER["en"][0])
        await page.click("#type")
        await expect(page.locator("#typed")).to_have_value("")
        await expect(said).to_be_visible()
        await page.fill("#typed", "It has held since.")
        await page.keyboard.press("Control+Enter")
        await expect(said).to_contain_text(ANSWER["en"][0])
        await expect(said).to_contain_text("It has held since.")
