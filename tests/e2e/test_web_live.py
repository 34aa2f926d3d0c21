"""The chat live in a real Chromium: progress, what people do, and why an answer did not help."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Locator, Route, expect

from bot.domain.cases import Act, Actor
from bot.domain.messages import InteractionId
from bot.store.database import Store, open_store, sqlite_url
from bot.web.chat.event_stream import EventStreams, PollIntervals
from tests.e2e.chromium import (
    DESKTOP,
    NEEDS_AXE,
    NEEDS_CHROMIUM,
    PATIENCE_MS,
    Look,
    Visit,
    in_looks,
    visiting,
)
from tests.e2e.test_web_states import PatientDesk, show_tab
from tests.fakes.chat_app import OnePageIndex, chat_app

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.browser,
    NEEDS_CHROMIUM,
]
ANNA = Actor("anna-it", "Anna Lopez", "expert")
REPLY = (
    "Port 500 is closed in the guest network.\n\n1. Switch to \u201coffice\u201d\n2. Try again\n\n"
    "It is all on https://wiki.example/network/guest."
)
LIVE = '#messages[data-live="on"]'


@pytest_asyncio.fixture(loop_scope="session")
async def desk() -> PatientDesk:
    return PatientDesk()


@pytest_asyncio.fixture(loop_scope="session")
async def url(
    tmp_path: Path, store: Store, desk: PatientDesk, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    """The chat, which looks sooner than in seconds for what people did."""
    hasty = partial(EventStreams, tempo=PollIntervals(working=0.1, waiting=0.2, answered=0.2))
    monkeypatch.setattr("bot.web.chat.routes.EventStreams", hasty)
    async with chat_app(tmp_path, store, OnePageIndex(), desk) as app, TestServer(app) as server:
        yield str(server.make_url("/")).rstrip("/")


@pytest_asyncio.fixture(loop_scope="session")
async def visit(chromium: Browser, url: str) -> AsyncIterator[Visit]:
    async with visiting(chromium, url, DESKTOP) as opened:
        yield opened


async def handed(visit: Visit) -> tuple[Locator, InteractionId]:
    """Ask for a person; return the card and the case's id."""
    await visit.ask("a person, please")
    card = visit.page.locator(".case").last
    await expect(card).to_contain_text("Waiting for a person")
    await expect(visit.page.locator(LIVE)).to_be_attached()
    return card, InteractionId(str(await card.get_attribute("id")).removeprefix("c-"))


async def anna(store: Store, case_id: InteractionId, act: Act, text: str = "") -> None:
    await store.escalations.act("default", case_id, act, ANNA, text)


SURE_SECONDS = 5
"""So seldom the page looks for itself while the stream is open (chat.js)."""


async def test_progress_and_answer_come_without_polling(visit: Visit, desk: PatientDesk) -> None:
    began = time.monotonic()

    def by_itself() -> int:
        return int((time.monotonic() - began) / SURE_SECONDS)

    await visit.send("wait")
    await expect(visit.page.locator(LIVE)).to_be_attached()
    await expect(visit.page.locator(".doing")).to_have_text("Searching the wiki \u2026")
    looks: list[str] = []
    visit.page.on("request", lambda asked: looks.append(asked.url))
    await visit.page.wait_for_timeout(1000)
    assert len(looks) <= by_itself()

    desk.finish("wait")

    await expect(visit.page.locator(".answer.found")).to_have_count(1)
    assert 1 <= len(looks) <= 1 + by_itself()
    # Nothing can change any more: the stream is closed.
    await expect(visit.page.locator(LIVE)).to_have_count(0)


async def test_without_the_stream_the_page_asks_for_itself(visit: Visit, desk: PatientDesk) -> None:
    await visit.page.route("**/events", lambda route: route.abort())
    await visit.send("wait")
    desk.finish("wait")

    await expect(visit.page.locator(".answer.found")).to_have_count(1)
    visit.troubles.clear()


async def test_a_restart_in_the_middle_of_a_question_loses_nothing(
    chromium: Browser, tmp_path: Path
) -> None:
    slow, quick = PatientDesk(), PatientDesk()
    quick.finish("wait")
    store = await open_store(sqlite_url(tmp_path))
    async with chat_app(tmp_path, store, OnePageIndex(), slow, drain_seconds=0.1) as app:
        server = TestServer(app)
        await server.start_server()
        port = server.port
        async with visiting(chromium, str(server.make_url("")), DESKTOP) as visit:
            await visit.send("wait")
            await expect(visit.page.locator(LIVE)).to_be_attached()
            await server.close()
            await expect(visit.page.get_by_role("alert")).to_contain_text("I'll keep trying")
            async with (
                chat_app(tmp_path, store, OnePageIndex(), quick) as again,
                TestServer(again, port=port),
            ):
                found = visit.page.locator(".answer.found")
                await expect(found).to_have_count(1)
                await expect(visit.page.get_by_role("alert")).to_be_empty()
            visit.troubles.clear()
    await store.close()


async def test_a_person_answers_and_the_asker_sees_each_step(
    visit: Visit, store: Store, desk: PatientDesk
) -> None:
    card, case_id = await handed(visit)
    await visit.page.evaluate("scrollTo({top: 40, behavior: 'instant'})")

    await anna(store, case_id, "claim")
    await expect(card).to_contain_text("Anna Lopez is working on it")
    await anna(store, case_id, "reply", REPLY)

    await expect(card.locator(".theirs")).to_contain_text("Port 500 is closed")
    await expect(card.locator(".theirs")).to_contain_text("a person")
    link = card.get_by_role("link", name="https://wiki.example/network/guest")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(visit.page.locator("#status")).to_contain_text("Anna Lopez replied. Port 500")


async def test_what_a_person_did_out_of_sight_is_pointed_at(visit: Visit, store: Store) -> None:
    card, case_id = await handed(visit)
    for number in range(3):
        await visit.ask(f"error 809, {number}")
    await expect(card).not_to_be_in_viewport()

    await anna(store, case_id, "claim")
    pill = visit.page.get_by_role("button", name="Anna Lopez is working on it")
    await expect(pill).to_be_visible()
    await visit.picture("case-pointed-at")
    await pill.click()

    await expect(card).to_be_in_viewport()
    await expect(card).to_be_focused()
    await expect(pill).to_have_count(0)


async def test_what_was_pointed_at_is_so_no_longer_once_it_is_seen(
    visit: Visit, store: Store
) -> None:
    card, case_id = await handed(visit)
    for number in range(3):
        await visit.ask(f"error 809, {number}")
    await anna(store, case_id, "claim")
    pill = visit.page.get_by_role("button", name="Anna Lopez is working on it")
    await expect(pill).to_be_visible()

    await card.evaluate("(it) => it.scrollIntoView({block: 'center', behavior: 'instant'})")

    await expect(pill).to_have_count(0)


async def test_the_asker_closes_a_case_and_opens_it_again(visit: Visit, store: Store) -> None:
    card, case_id = await handed(visit)
    await anna(store, case_id, "reply", REPLY)
    await expect(card).to_contain_text("Anna Lopez replied")

    await card.get_by_role("button", name="This helped, close it").click()
    await expect(card).to_contain_text("You closed it")
    await expect(card).to_be_focused()
    await card.get_by_text("I still need help").click()
    await card.get_by_role("textbox").fill("The guest network is gone.")
    await card.get_by_role("button", name="Ask again").click()

    await expect(card).to_contain_text("Waiting for a person again")
    await expect(card.locator(".mine .words").last).to_have_text("The guest network is gone.")
    await visit.picture("case-reopened")


async def test_a_card_that_changes_during_a_press_keeps_its_buttons(
    visit: Visit, store: Store
) -> None:
    card, case_id = await handed(visit)
    await anna(store, case_id, "reply", "One.")
    close = card.get_by_role("button", name="This helped, close it")
    closed, changed = asyncio.Event(), asyncio.Event()

    async def hold_response(route: Route) -> None:
        if route.request.method != "POST":
            await route.continue_()
            return
        response = await route.fetch()
        closed.set()
        await changed.wait()
        await route.fulfill(response=response)

    await visit.page.route("**/case*", hold_response)
    await close.click()
    await closed.wait()
    # The stream says that the case changed while the press is still without its response.
    await visit.page.wait_for_timeout(600)
    changed.set()

    await expect(card).to_contain_text("You closed it")
    await expect(card.get_by_text("I still need help")).to_be_visible()


async def test_words_that_are_being_typed_outlive_what_people_do(
    visit: Visit, store: Store
) -> None:
    card, case_id = await handed(visit)
    await anna(store, case_id, "reply", "One.")
    await card.get_by_text("I still need help").click()
    await card.get_by_role("textbox").fill("Half a sen")

    await anna(store, case_id, "reply", "Two.")

    await expect(card.locator(".theirs")).to_have_count(2)
    await expect(card.get_by_role("textbox")).to_have_value("Half a sen")
    await expect(card.get_by_role("textbox")).to_be_focused()


async def test_what_came_too_late_is_said_and_shown_as_it_is_now(
    visit: Visit, store: Store
) -> None:
    card, case_id = await handed(visit)
    await anna(store, case_id, "decline", "This is for the facility team: https://help.example")
    await expect(card).to_contain_text("Anna Lopez can't help with this")
    await visit.picture("case-declined")

    await expect(card.get_by_role("button", name="No longer needed")).to_have_count(0)
    await expect(card.locator(".theirs .words")).to_contain_text("facility team")


async def test_a_hidden_tab_holds_no_stream_and_is_up_to_date_when_seen(
    visit: Visit, store: Store
) -> None:
    card, case_id = await handed(visit)
    await show_tab(visit, hidden=True)
    await expect(visit.page.locator(LIVE)).to_have_count(0)
    await anna(store, case_id, "claim")
    await visit.page.wait_for_timeout(300)
    await expect(card).to_contain_text("Waiting for a person")

    await show_tab(visit, hidden=False)

    await expect(card).to_contain_text("Anna Lopez is working on it")


async def test_the_title_of_a_hidden_tab_says_what_a_person_did(visit: Visit, store: Store) -> None:
    card, case_id = await handed(visit)
    await visit.page.clock.install()
    await show_tab(visit, hidden=True)
    await anna(store, case_id, "claim")

    await visit.page.clock.fast_forward(31_000)

    await expect(card).to_contain_text("Anna Lopez is working on it")
    await expect(visit.page).to_have_title("\u25cf Anna Lopez is working on it")
    await show_tab(visit, hidden=False)
    await expect(visit.page).to_have_title("Frontdesk")


async def test_a_reason_is_given_by_keyboard_changed_and_taken_back(
    visit: Visit, store: Store
) -> None:
    page = visit.page
    await visit.ask("error 809")
    thumb = page.get_by_role("button", name="No, this didn't help")
    await thumb.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".reasons > summary")).to_contain_text("What was wrong?")
    await expect(thumb).to_be_focused()

    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("ArrowRight")
    await page.keyboard.press("Tab")
    await page.keyboard.type("It moved in May.")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    noted = page.locator(".reasons > summary")
    await expect(noted).to_contain_text("Saved: Outdated")
    await expect(noted).to_be_focused()
    await page.reload()
    await page.locator(".reasons > summary").click()
    await expect(page.get_by_label("Anything to add?")).to_have_value("It moved in May.")
    await page.get_by_text("Incomplete").click()
    await page.get_by_role("button", name="Save").click()
    await expect(noted).to_contain_text("Saved: Incomplete")
    await thumb.click()
    await expect(thumb).to_have_attribute("aria-pressed", "false")
    await expect(noted).to_have_count(0)


async def test_without_scripts_people_and_feedback_work_too(
    chromium: Browser, url: str, store: Store
) -> None:
    context = await chromium.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(url)
    for question in ("error 809", "a person, please"):
        await page.locator("#question").fill(question)
        await page.get_by_role("button", name="Ask", exact=True).click()
    card = page.locator(".case")
    async with asyncio.timeout(PATIENCE_MS / 1000):
        while not await card.count():
            await asyncio.sleep(0.1)
            await page.goto(url)
    await page.get_by_role("button", name="No, this didn't help").click()
    await page.get_by_text("Wrong", exact=True).click()
    await page.get_by_role("button", name="Send").click()
    await page.get_by_role("button", name="No longer needed").click()

    await expect(card).to_contain_text("You closed it")
    await expect(page.locator(".reasons > summary")).to_contain_text("Saved: Wrong")
    await context.close()


@NEEDS_AXE
@in_looks()
async def test_no_state_of_a_case_or_of_feedback_shuts_anybody_out(
    visit: Visit, store: Store, look: Look
) -> None:
    page = visit.page
    await visit.look(look)
    await visit.ask("error 809")
    await page.get_by_role("button", name="No, this didn't help").click()
    await page.get_by_text("Outdated").click()
    await visit.shuts_nobody_out(f"live-feedback-{look.name}")
    card, case_id = await handed(visit)
    await visit.shuts_nobody_out(f"live-waiting-{look.name}")
    await anna(store, case_id, "claim")
    await expect(card).to_contain_text("Anna Lopez is working on it")
    await visit.shuts_nobody_out(f"live-claimed-{look.name}")
    await anna(store, case_id, "reply", REPLY)
    await expect(card).to_contain_text("Anna Lopez replied")
    await card.get_by_text("I still need help").click()
    await visit.shuts_nobody_out(f"live-answered-{look.name}")
