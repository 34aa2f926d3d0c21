"""The page of the API in a real Chromium, over a server that serves the sample."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.chromium import DESKTOP, NEEDS_AXE, NEEDS_CHROMIUM, Look, in_looks, visiting
from tests.e2e.conftest import Served, serving
from tests.fakes.http_server import TOKEN

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    pytest.mark.slow,
    NEEDS_CHROMIUM,
]


@pytest.fixture(scope="module")
def office(indexed_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose admins need a token."""
    data = shutil.copytree(indexed_sample, tmp_path_factory.mktemp("reference") / "data")
    yield from serving(data, FRONTDESK_ADMIN_TOKEN=TOKEN)


async def opened(page: Page, operation: str) -> Locator:
    """Return an operation, opened to be tried out."""
    found = page.locator(f"#operations-{operation}")
    await found.locator(".opblock-summary-control").click()
    await found.get_by_role("button", name="Try it out").click()
    return found


async def status_of(operation: Locator) -> str:
    await operation.get_by_role("button", name="Execute").click()
    shown = operation.locator(".live-responses-table .response-col_status").last
    await expect(shown).to_be_visible()
    return (await shown.inner_text()).split()[0]


@NEEDS_AXE
@in_looks()
async def test_the_page_loads_nothing_from_elsewhere_and_shuts_nobody_out(
    chromium: Browser, office: Served, look: Look
) -> None:
    async with visiting(chromium, f"{office.url}/docs", look.size, also=office.url) as visit:
        await visit.look(look)
        await expect(visit.page.locator("#operations-documents-put_document_v2")).to_be_visible()
        await visit.picture(f"api-{look.name}")
        assert await visit.findings() == []


async def test_requests_are_tried_out_with_the_admin_token(
    chromium: Browser, office: Served
) -> None:
    async with visiting(chromium, f"{office.url}/docs", DESKTOP, also=office.url) as visit:
        asked = await opened(visit.page, "ask-ask_v2")
        await asked.locator("textarea").fill(
            '{"question": "vpn error 809", "spaces": ["SAMPLE-IT"]}'
        )
        assert await status_of(asked) == "200"
        listed = await opened(visit.page, "documents-spaces_v2")

        await visit.page.locator(".auth-wrapper .authorize").first.click()
        dialog = visit.page.locator(".dialog-ux")
        await dialog.get_by_role("textbox").first.fill(TOKEN)
        await dialog.get_by_role("button", name="Apply credentials").first.click()
        await dialog.get_by_role("button", name="Close").last.click()

        assert await status_of(listed) == "200"
