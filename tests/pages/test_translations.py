"""Every message of the pages has its Chinese, with the same placeholders; the pages follow the language."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from babel.messages.pofile import read_po
from django.test import Client
from django.utils import translation

from apps.interviews.models import Interview, Template
from apps.interviews.page_text import live_text, microphone_text
from tests.pages.messages import messages_in_tree
from tests.pages.visit import ROOT, choose

CATALOG = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%[sd]|\{\w+\}")


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    with CATALOG.open("rb") as file:
        catalog = read_po(file, locale="zh_Hans", abort_invalid=True)
    return dict(_entries(catalog))


def _entries(catalog: object) -> Iterator[tuple[str, str]]:
    for message in catalog:  # type: ignore[attr-defined]
        if message.id:
            plural = not isinstance(message.id, str)
            yield (message.id[0], message.string[0]) if plural else (message.id, message.string)


def test_every_message_of_the_tree_has_its_chinese(chinese: dict[str, str]) -> None:
    missing = {message: path for message, path in messages_in_tree(ROOT) if not chinese.get(message)}
    assert not missing


def test_no_translation_outlives_its_message(chinese: dict[str, str]) -> None:
    assert not set(chinese) - {message for message, _ in messages_in_tree(ROOT)}


def test_translations_keep_the_placeholders(chinese: dict[str, str]) -> None:
    broken = [
        source
        for source, target in chinese.items()
        if sorted(_PLACEHOLDER.findall(source)) != sorted(_PLACEHOLDER.findall(target))
    ]
    assert not broken


def test_chinese_uses_its_own_punctuation(chinese: dict[str, str]) -> None:
    """Half-width marks between two Chinese characters are a slip."""
    slip = re.compile(r"[\u4e00-\u9fff][,;:!?.][\u4e00-\u9fff]|[\u4e00-\u9fff][,;:!?]$")
    assert not [target for target in chinese.values() if slip.search(target)]


@pytest.mark.parametrize("texts", [live_text, microphone_text])
def test_scripts_get_their_words_in_the_language_of_the_pages(texts: object) -> None:
    assert callable(texts)
    with translation.override("zh-hans"):
        in_chinese = texts()
    with translation.override("en"):
        in_english = texts()
    assert in_chinese.keys() == in_english.keys()
    assert all(re.search(r"[\u4e00-\u9fff]", text) for text in in_chinese.values())
    assert not any(re.search(r"[\u4e00-\u9fff]", text) for text in in_english.values())


def test_the_switch_changes_the_pages_and_not_the_interview(client: Client, practice: Template) -> None:
    interview = choose(client, practice)
    client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/"})
    page = client.get("/").content.decode()
    assert '<html lang="zh-Hans">' in page
    assert "选择一场面试" in page
    assert "Practice for engineers" in page
    assert Interview.objects.get(pk=interview.pk).language == "en"
    assert "记录什么" in client.get(f"/interviews/{interview.public_id}/notice/").content.decode()


def test_the_browser_s_language_is_the_first_guess(client: Client, practice: Template) -> None:
    assert "选择一场面试" in client.get("/", headers={"Accept-Language": "zh-CN,zh;q=0.9"}).content.decode()
    assert "Choose an interview" in client.get("/", headers={"Accept-Language": "fr"}).content.decode()


def test_errors_are_told_in_both_languages(client: Client, db: None) -> None:
    assert "There is nothing here" in client.get("/nowhere/").content.decode()
    client.post("/i18n/setlang/", {"language": "zh-hans"})
    assert "这里什么也没有" in client.get("/nowhere/").content.decode()
