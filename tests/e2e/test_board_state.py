"""The board's state pages in a real Chromium: wide and narrow, light and dark, by keyboard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from bot.domain.health import ComponentStatus
from bot.domain.messages import Person
from bot.domain.users import SignedIn
from bot.learning.digest import Subscription
from bot.store.database import Store
from tests.e2e.chromium import DESKTOP, NEEDS_AXE, NEEDS_CHROMIUM, PHONE, Look, in_looks, visiting
from tests.fakes.board_app import BoardState, state_pages
from tests.fakes.builders import chunk
from tests.fakes.chat_context import MemoryDocuments, document
from tests.fakes.http_server import settings_for
from tests.fakes.learning import collect_facts
from tests.fakes.record_rows import fill

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    NEEDS_CHROMIUM,
]

PATHS = (
    "/board",
    "/board?days=90",
    "/board/insights",
    "/board/insights?days=90&space=IT",
    "/board/insights/digests",
    "/board/usage?by=model",
    "/board/parts",
    "/board/settings",
    "/board/settings/channel?channel=slack:C0123",
    "/board/settings/sessions",
)
PARTS = (
    ComponentStatus("index", "failed", "the disk is full.", "Make room."),
    ComponentStatus(
        "knowledge", "absent", "nothing yet.", "Add: python -m ingestion folder P --space K"
    ),
    ComponentStatus(
        "limits", "paused", "paused by anna.", "Resume answering: python -m bot resume"
    ),
    ComponentStatus("doors", "ready", "open on this machine only"),
)


@pytest_asyncio.fixture(loop_scope="session")
async def url(store: Store, tmp_path: Path) -> AsyncIterator[str]:
    await fill(store, datetime.now(UTC), days=30, a_day=20)
    await collect_facts(store)
    channel = Subscription("slack:C1", "Anna Lopez", datetime.now(UTC))
    await store.digests.subscribe("default", channel, actor="slack:anna")
    await store.audits.append("default", "cli:anna", "policy", "slack:C0123", detail="IT, HR")
    indexed = MemoryDocuments()
    for space in ("HR", "IT", "OFFICE"):
        indexed.kept[space, "a.md"] = document(space, "a.md")
    anna = SignedIn("oidc", "asker", Person("oidc-1", "Anna Lopez", "anna@acme.example"))
    tonight = datetime.now(UTC) + timedelta(hours=9)
    await store.sessions.begin("default", "a", anna, datetime.now(UTC), tonight)
    changed = datetime(2026, 2, 1, tzinfo=UTC)
    page = replace(
        chunk("It is so.", page_id="vpn.md", title="VPN"), updated_at=changed, updated_by="Zoe"
    )
    told = BoardState(PARTS, documents=indexed, pages=[page])
    async with state_pages(store, settings_for(tmp_path), told) as client:
        yield str(client.make_url("/"))


@NEEDS_AXE
@in_looks()
async def test_nothing_serious_is_found_and_nothing_sticks_out(
    chromium: Browser, url: str, look: Look
) -> None:
    async with visiting(chromium, f"{url}board", look.size, also=url) as visit:
        await visit.look(look)
        for path in PATHS:
            await visit.page.goto(url.rstrip("/") + path)
            await visit.shuts_nobody_out(f"{path.strip('/').replace('/', '-')}-{look.name}")


async def test_a_pause_is_set_and_lifted_by_keyboard(
    chromium: Browser, url: str, store: Store
) -> None:
    async with visiting(chromium, f"{url}board/settings", DESKTOP, also=url) as visit:
        await visit.page.get_by_label("Reason").focus()
        await visit.page.keyboard.type("We are moving the wiki.")
        await visit.page.keyboard.press("Enter")
        await expect(visit.page.get_by_role("heading", name="Answering is paused")).to_be_visible()
        paused = await store.pauses.current("default")
        assert paused is not None
        assert paused.reason == "We are moving the wiki."

        await visit.page.get_by_role("button", name="Resume answering").press("Enter")

        await expect(visit.page.get_by_role("heading", name="Answering is on")).to_be_visible()
        assert await store.pauses.current("default") is None


async def test_a_channels_spaces_are_chosen_by_keyboard(
    chromium: Browser, url: str, store: Store
) -> None:
    async with visiting(chromium, f"{url}board/settings", DESKTOP, also=url) as visit:
        await visit.page.get_by_label("Choose a channel's spaces").focus()
        await visit.page.keyboard.type("slack:C0123")
        await visit.page.keyboard.press("Enter")
        await visit.page.get_by_role("group", name="Answer only from").get_by_label("HR").focus()
        await visit.page.keyboard.press("Space")
        await visit.page.keyboard.press("Enter")

        await expect(visit.page.get_by_text("spaces: HR").first).to_be_visible()
        kept = await store.policies.of("default", "slack:C0123")
        assert kept is not None
        assert kept.spaces == frozenset({"HR"})


async def test_a_command_is_copied(chromium: Browser, url: str) -> None:
    async with visiting(chromium, f"{url}board/parts", PHONE, also=url) as visit:
        await visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await visit.page.get_by_role("button", name="Copy: python -m bot resume").click()

        await expect(
            visit.page.get_by_role("button", name="Copied: python -m bot resume")
        ).to_be_visible()
        copied = await visit.page.evaluate("navigator.clipboard.readText()")
        assert copied == "python -m bot resume"


async def test_the_figures_of_a_chart_open_as_a_table(chromium: Browser, url: str) -> None:
    async with visiting(chromium, f"{url}board/insights?days=30", PHONE, also=url) as visit:
        fold = visit.page.get_by_role("figure").first
        await expect(fold.get_by_role("table")).to_be_hidden()
        await fold.get_by_text("Figures by day").click()

        await expect(fold.get_by_role("row")).to_have_count(31)
