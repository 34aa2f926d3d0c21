"""People at work on the board, in a real Chromium: by keyboard, side by side, on a phone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page, Route, expect

from bot.domain.cases import Actor
from bot.domain.interactions import Interaction, Reply, new_feedback
from bot.store.database import Store
from tests.e2e.chromium import DESKTOP, NEEDS_AXE, NEEDS_CHROMIUM, Look, Visit, in_looks, visiting
from tests.fakes.board_app import OPEN, SURE, TOLD_ALL, ask, board_app, source

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    NEEDS_CHROMIUM,
]
BEN = Actor("ben", "Ben Okafor", "expert")
FOCUSED = "`${document.activeElement?.id} ${document.activeElement?.className}`"
UNFOLD = "document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })"
TRANSFERRED = "performance.getEntries().reduce((sum, e) => sum + (e.decodedBodySize || 0), 0)"


@pytest_asyncio.fixture(loop_scope="session")
async def url(tmp_path: Path, store: Store) -> AsyncIterator[str]:
    async with TestServer(board_app(tmp_path, store, who="anna")) as server:
        yield str(server.make_url("/board/escalations"))


@pytest_asyncio.fixture(loop_scope="session")
async def waiting(store: Store) -> Interaction:
    await ask(store, "before", "is the vpn down?", response=TOLD_ALL)
    return await ask(store, "waits", "vpn says error 809, what now?")


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, url: str, waiting: Interaction) -> AsyncIterator[Visit]:
    origin = url.removesuffix("/board/escalations")
    async with visiting(chromium, url, DESKTOP, also=origin) as opened:
        yield opened


async def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with an id, or of a class, has the focus."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if name in str(await page.evaluate(FOCUSED)):
            return
    pytest.fail(f"{name} can't be reached by keyboard")


async def test_a_question_is_claimed_answered_and_resolved_by_keyboard_alone(
    visit: Visit, store: Store, waiting: Interaction
) -> None:
    page = visit.page
    await tab_to(page, "entry-name")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/board/escalations/*")
    await tab_to(page, "claim")
    await page.keyboard.press("Enter")
    await expect(page.locator("#stands")).to_contain_text("Assigned to you")
    await expect(page.locator("#reply")).to_be_focused()

    await page.keyboard.type("Use the blue socket.")
    await page.keyboard.press("Control+Enter")
    await expect(page.get_by_text("Your reply is being sent to Mika Salo.")).to_be_visible()
    await expect(page.locator("#stands")).to_be_focused()
    await expect(page.locator("#reply")).to_be_empty()
    await expect(page.locator(".steps-taken")).to_contain_text("Use the blue socket.")

    await tab_to(page, "resolve")
    await page.keyboard.press("Enter")
    await expect(page.locator("#stands")).to_contain_text("Resolved by Anna Lopez")
    steps = await store.escalations.steps("default", waiting.id)
    assert [step.step for step in steps] == ["open", "claim", "reply", "resolve"]


async def test_who_was_slower_is_told_in_place_and_loses_no_word(
    visit: Visit, store: Store, waiting: Interaction
) -> None:
    page = visit.page
    await page.locator(".entry-name").first.click()
    await page.locator("#reply").fill("A long and careful text.")
    await store.escalations.act("default", waiting.id, "claim", BEN)

    await page.keyboard.press("Control+Enter")

    await expect(page.locator(".refusal")).to_contain_text("It is assigned to Ben Okafor.")
    await expect(page.locator(".refusal")).to_be_focused()
    await expect(page.locator("#reply")).to_have_value("A long and careful text.")
    await expect(page.locator("#claim")).to_have_count(0)
    await visit.picture("board-taken")
    assert all("409" in trouble for trouble in visit.troubles)
    visit.troubles.clear()


async def test_a_server_that_is_away_costs_no_word(visit: Visit) -> None:
    page = visit.page
    await page.locator(".entry-name").first.click()
    await page.locator("#reply").fill("A long and careful text.")
    await page.route("**/board/escalations/*", lambda route: route.abort())

    await page.keyboard.press("Control+Enter")

    await expect(page.locator("#trouble")).to_contain_text("Your text is still here")
    await expect(page.locator("#reply")).to_have_value("A long and careful text.")
    visit.troubles.clear()


@asynccontextmanager
async def held(page: Page) -> AsyncIterator[None]:
    """Hold what is sent back within the block, as a slow network does."""
    go_on = asyncio.Event()

    async def hold(route: Route) -> None:
        await go_on.wait()
        await route.continue_()

    await page.route("**/board/escalations/*", hold)
    try:
        yield
    finally:
        go_on.set()


CARET = "[document.activeElement.id, document.activeElement.selectionStart]"


async def test_a_reply_typed_before_the_claim_arrives_is_kept(visit: Visit) -> None:
    page = visit.page
    await page.locator(".entry-name").first.click()
    async with held(page):
        await page.locator("#claim").click()
        await page.locator("#reply").focus()
        await page.keyboard.type("Use the socket.")
        for _ in "socket.":
            await page.keyboard.press("ArrowLeft")
    await expect(page.locator("#stands")).to_contain_text("Assigned to you")
    await expect(page.locator("#work")).to_have_class("work")

    assert await page.evaluate(CARET) == ["reply", len("Use the ")]
    await page.keyboard.type("blue ")
    await expect(page.locator("#reply")).to_have_value("Use the blue socket.")


async def test_a_note_typed_while_a_reply_is_sent_stays_open(visit: Visit) -> None:
    page = visit.page
    await page.locator(".entry-name").first.click()
    await page.locator("#reply").fill("Use the blue socket.")
    async with held(page):
        await page.locator("#send").click()
        await page.locator("#add-note").click()
        await page.locator("#note").focus()
        await page.keyboard.type("He sits ")
    await expect(page.locator(".sent")).to_be_visible()
    await expect(page.locator("#work")).to_have_class("work")

    await page.keyboard.type("upstairs.")
    await expect(page.locator("#note")).to_have_value("He sits upstairs.")
    await expect(page.locator("#reply")).to_be_empty()


async def test_only_what_follows_a_sent_reply_stays_in_its_box(visit: Visit) -> None:
    page = visit.page
    await page.locator(".entry-name").first.click()
    await page.locator("#reply").fill("Use the blue socket.")
    async with held(page):
        await page.keyboard.press("Control+Enter")
        await page.keyboard.type("Or the red one.")
    await expect(page.locator(".sent")).to_be_visible()

    await expect(page.locator("#reply")).to_have_value("Or the red one.")


async def test_a_reply_typed_before_a_claim_is_refused_is_shown(
    visit: Visit, store: Store, waiting: Interaction
) -> None:
    page = visit.page
    await page.locator(".entry-name").first.click()
    await store.escalations.act("default", waiting.id, "claim", BEN)
    async with held(page):
        await page.locator("#claim").click()
        await page.locator("#reply").fill("A long and careful text.")

    await expect(page.locator(".refusal")).to_be_focused()
    await expect(page.get_by_label("it has not been sent")).to_have_value(
        "A long and careful text."
    )
    visit.troubles.clear()


async def test_the_list_keeps_itself_up_to_date_and_the_focus_where_it_is(
    visit: Visit, store: Store, waiting: Interaction, url: str
) -> None:
    page = visit.page
    await page.clock.install()
    await page.goto(url)
    await page.locator(f"#case-{waiting.id}").focus()
    await ask(store, "new", "my badge is broken")

    await page.clock.fast_forward(11_000)

    await expect(page.locator(".entry-name")).to_have_count(2)
    await expect(page.locator("#tab-waiting")).to_contain_text("2")
    await expect(page.locator(f"#case-{waiting.id}")).to_be_focused()


async def test_an_open_case_says_that_another_was_quicker_and_shows_it_on_demand(
    visit: Visit, store: Store, waiting: Interaction
) -> None:
    page = visit.page
    await page.clock.install()
    await page.goto(page.url.replace("/board/escalations", f"/board/escalations/{waiting.id}"))
    await page.locator("#reply").fill("half a sentence")
    await store.escalations.act("default", waiting.id, "claim", BEN)

    await page.clock.fast_forward(11_000)
    await expect(page.locator("#news")).to_contain_text("assigned to Ben Okafor.")
    await expect(page.locator("#reply")).to_be_focused()
    await page.get_by_role("button", name="Reload").click()

    await expect(page.locator("#stands")).to_contain_text("Claimed by Ben Okafor")
    await expect(page.locator("#reply")).to_have_value("half a sentence")


async def test_it_works_without_javascript(
    chromium: Browser, url: str, store: Store, waiting: Interaction
) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(url)
    await page.locator(".entry-name").first.click()
    await page.locator("#claim").click()
    await page.locator("#reply").fill("Use the blue socket.")
    await page.get_by_role("button", name="Reply").click()

    await expect(page.locator(".steps-taken")).to_contain_text("Use the blue socket.")
    await context.close()


@NEEDS_AXE
@in_looks()
async def test_no_page_shuts_anybody_out(
    visit: Visit, store: Store, waiting: Interaction, look: Look
) -> None:
    origin = visit.page.url.removesuffix("/board/escalations")
    await visit.look(look)
    for name, path in (await filled(store, waiting)).items():
        await visit.page.goto(origin + path)
        await visit.page.evaluate(UNFOLD)
        await visit.shuts_nobody_out(f"board-{name}-{look.name}")
        assert await visit.page.evaluate(TRANSFERRED) <= 150_000


async def filled(store: Store, waiting: Interaction) -> dict[str, str]:
    """Fill a record with something of everything; return the pages that show it."""
    long = "x" * 300 + " is what the log says.\n" * 20
    private = Reply("So [1].", "answer", (source(OPEN),))
    await ask(store, "long", long, response=SURE, private=private)
    answered = await ask(store, "answered", "who approves travel?", response=SURE)
    await store.interactions.rate(
        new_feedback(answered.id, "mika", "down", reason="outdated", comment="It says 2019. " * 30)
    )
    for act, text in (("claim", ""), ("reply", "See https://wiki.example/vpn\n\nand call us.")):
        await store.escalations.act("default", waiting.id, act, BEN, text)  # type: ignore[arg-type]  # an act
    return {
        "escalations": "/board/escalations?state=all",
        "escalation": f"/board/escalations/{waiting.id}",
        "questions": "/board/questions",
        "question-handed-over": f"/board/questions/{waiting.id}",
        "question-answered": f"/board/questions/{answered.id}",
        "feedback": "/board/feedback",
    }
