"""The page's modules, run by a real browser without a page around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from playwright.async_api import Page

from tests.pages.browser import chromium, visitor


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(site: str) -> AsyncIterator[Page]:
    async with chromium() as browser, visitor(browser) as page:
        await page.goto(site)
        yield page


async def run(page: Page, module: str, body: str, argument: object = None) -> Any:
    """The value of `body`, which sees the module as `m` and the argument as `a`."""
    script = f"async (a) => {{ const m = await import('/static/js/{module}.js'); {body} }}"
    return await page.evaluate(script, argument)
