"""Tests of seeing more of an asker's conversation on a case's page."""

from __future__ import annotations

from dataclasses import replace

from bot.domain.cases import ActDetail, Actor
from bot.domain.interactions import Reply
from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.fakes.board_app import BoardBrowser, ask

MIKA = Actor("mika", "Mika Salo", "asker")
SEE, ASK = 'value="see_more"', 'value="ask_more"'


async def claimed(desk: BoardBrowser, store: Store) -> tuple[str, InteractionId]:
    """Claim a question that came after another; return its page's path and its id."""
    first = await ask(store, "m1", "is the <proxy> needed?", response=Reply("No.", "generic"))
    asked = replace(first.message, id="m2", text="vpn says error 809")
    case = await ask(store, asked=asked)
    path = f"/board/escalations/{case.id}"
    await desk.post(path, act="claim")
    return path, case.id


async def agreed(desk: BoardBrowser, store: Store) -> str:
    path, case_id = await claimed(desk, store)
    await desk.post(path, act="ask_more")
    steps = await store.escalations.steps("default", case_id)
    about = ActDetail(about=steps[-1].number)
    await store.escalations.act("default", case_id, "show_more", MIKA, "", about)
    return path


async def test_the_page_shows_once_what_the_asker_agreed_to(
    desk: BoardBrowser, store: Store
) -> None:
    path = await agreed(desk, store)
    page = await desk.get(path)
    assert SEE in page
    assert "proxy" not in page

    shown = await desk.post(path, act="see_more")
    assert "is the &lt;proxy&gt; needed?" in shown
    assert "No." in shown
    assert SEE not in shown

    assert "proxy" not in await desk.get(path)
    assert "proxy" not in await desk.post(path, status=409, act="see_more")


async def test_while_the_asker_is_asked_the_page_says_so(desk: BoardBrowser, store: Store) -> None:
    path, _ = await claimed(desk, store)
    assert ASK in await desk.get(path)
    shown = await desk.post(path, act="ask_more")
    assert "asked whether you may see" in shown
    assert ASK not in shown
    assert SEE not in shown


async def test_the_page_takes_no_agreement(desk: BoardBrowser, store: Store) -> None:
    path, _ = await claimed(desk, store)
    await desk.post(path, act="ask_more")
    await desk.post(path, status=422, act="show_more")


async def test_without_earlier_questions_it_is_not_offered(
    desk: BoardBrowser, store: Store
) -> None:
    path = f"/board/escalations/{(await ask(store)).id}"
    await desk.post(path, act="claim")
    assert ASK not in await desk.get(path)
