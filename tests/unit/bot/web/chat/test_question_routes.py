"""Tests of what is asked beside typing: sections beside an answer, and a question that changed."""

from __future__ import annotations

import re
import uuid

import pytest

from bot.answering.visibility import PAGE_CLOSED
from bot.domain.messages import InteractionId
from bot.store.database import Store
from rag.errors import IndexUnavailable
from rag.types import Principal
from tests.fakes.builders import chunk
from tests.fakes.chat_app import QUOTE, Browser, OnePageIndex, VpnDesk, exchange_of
from tests.fakes.durable_inbox import stored_interaction
from tests.fakes.http_server import wait_until

NOBODY = frozenset({Principal("group:nobody")})
HEADINGS = ("Hotspot", "Error 812", "Mobile", "Contact")


@pytest.fixture
def pages() -> OnePageIndex:
    return OnePageIndex(
        further=[
            chunk("Text.", chunk_id=f"c{place}", section=heading)
            for place, heading in enumerate(HEADINGS, 2)
        ]
    )


def offered(page: str) -> list[str]:
    """Return the chunks whose sections are offered."""
    return re.findall(r'name="section" value="([^"]+)"', page)


async def test_an_answer_offers_the_three_nearest_sections(browser: Browser) -> None:
    _, answer = await browser.ask("error 809")

    assert offered(answer) == ["c2", "c3", "c4"]
    assert "Hotspot" in answer
    assert "Contact" not in answer


async def test_a_section_that_is_chosen_is_asked_about(browser: Browser, desk: VpnDesk) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/section", section="c3")

    await wait_until(lambda: len(desk.asked) == 2)
    assert desk.asked[-1].message.text == "VPN: Error 812"


async def test_a_section_that_was_chosen_is_named_where_it_was_not_found(browser: Browser) -> None:
    """The desk notes no passage, so that only the answer above vouches for the heading."""
    path, _ = await browser.ask("error 809")
    bubble = await browser.post(f"{path}/section", section="c3")
    chosen = f"{path.rpartition('/')[0]}/{exchange_of(bubble)}"
    while 'class="answer working"' in await browser.get(chosen):
        pass

    assert "VPN: Error 812" in await browser.get("/")


async def test_a_section_that_was_asked_about_is_not_offered_again(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/section", section="c2")
    _, answer = await browser.ask("error 809 again")

    assert offered(answer) == ["c3", "c4", "c5"]


async def test_only_the_last_answer_offers_sections(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.ask("pet insurance?")

    assert offered(await browser.get("/")) == []
    assert offered(await browser.get(path)) == []


async def test_no_heading_is_offered_once_the_page_is_closed(
    browser: Browser, pages: OnePageIndex
) -> None:
    path, _ = await browser.ask("error 809")
    pages.readers = NOBODY

    assert offered(await browser.get(path)) == []
    assert "Hotspot" not in await browser.get("/")


async def test_a_section_that_was_closed_since_it_was_offered_is_not_asked_about(
    browser: Browser, pages: OnePageIndex, desk: VpnDesk
) -> None:
    path, _ = await browser.ask("error 809")
    pages.readers = NOBODY

    refused = await browser.post(f"{path}/section", status=409, section="c2")

    assert PAGE_CLOSED in refused
    assert len(desk.asked) == 1


@pytest.mark.parametrize("section", ["", "c1", "c99", "VPN: Hotspot"])
async def test_only_what_is_beside_the_answer_can_be_chosen(browser: Browser, section: str) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/section", status=409, section=section)


async def test_a_section_pressed_twice_is_asked_about_once(browser: Browser, desk: VpnDesk) -> None:
    path, answer = await browser.ask("error 809")
    press = re.findall(r'name="message" value="([^"]+)"', answer)[0]

    first = await browser.post(f"{path}/section", section="c2", message=press)
    second = await browser.post(f"{path}/section", section="c2", message=press)

    assert exchange_of(first) == exchange_of(second)


async def test_without_the_index_nothing_is_offered_and_the_answer_is_shown(
    browser: Browser, pages: OnePageIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> list[object]:
        raise IndexUnavailable("the disk is gone")

    monkeypatch.setattr(pages, "page", gone)
    _, answer = await browser.ask("error 809")

    assert offered(answer) == []
    assert QUOTE in answer


async def test_an_edited_question_is_asked_again_and_its_answer_replaced(
    browser: Browser, store: Store
) -> None:
    path, _ = await browser.ask("error 809")
    old = InteractionId(path.rpartition("/")[2])

    again = await browser.post(f"{path}/edit", question="pet insurance?")

    assert exchange_of(again) != old
    page = await browser.get("/")
    assert "pet insurance?" in page
    assert "error 809" not in page
    before = await stored_interaction(store, old)
    assert before.withdrawn
    assert before.message.text == ""


async def test_an_edited_question_is_no_follow_up_of_itself(
    browser: Browser, desk: VpnDesk
) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/edit", question="and error 809 at home?")

    await wait_until(lambda: len(desk.asked) == 2)
    assert desk.asked[-1].history == ()


async def test_a_question_edited_while_it_is_answered_stays_one_question(
    browser: Browser, desk: VpnDesk
) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await browser.post(f"/chat/{conversation}", question="pet insurance?")
    path = f"/chat/{conversation}/{exchange_of(bubble)}"

    again = await browser.post(f"{path}/edit", question="error 809")
    desk.may_answer.set()

    assert exchange_of(again) == exchange_of(bubble)
    while 'class="answer working"' in (answer := await browser.get(path)):
        pass
    assert QUOTE in answer


async def test_an_edit_sent_twice_asks_once(browser: Browser, desk: VpnDesk) -> None:
    path, _ = await browser.ask("error 809")

    first = await browser.post(f"{path}/edit", question="pet insurance?")
    second = await browser.post(f"{path}/edit", question="pet insurance?")

    assert exchange_of(first) == exchange_of(second)


async def test_a_refused_edit_leaves_the_answer(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/edit", status=422, question="  ")

    assert QUOTE in await browser.get(path)


async def test_only_the_last_question_can_be_edited(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.ask("error 809 again")

    await browser.post(f"{path}/edit", status=409, question="error 810")

    assert (await browser.get("/")).count('class="edit"') == 1


async def test_a_question_that_people_have_cannot_be_edited(browser: Browser) -> None:
    path, _ = await browser.ask("a person, please")

    await browser.post(f"{path}/edit", status=409, question="error 809")

    assert 'class="edit"' not in await browser.get("/")


async def test_the_words_of_a_page_cannot_be_edited(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    bubble = await browser.post(f"{path}/section", section="c2")
    chosen = f"{path.rpartition('/')[0]}/{exchange_of(bubble)}"

    await browser.post(f"{chosen}/edit", status=409, question="VPN: Hotspot, really")


async def test_a_withdrawn_question_cannot_be_edited(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/withdraw")

    await browser.post(f"{path}/edit", status=409, question="error 810")


async def test_nobody_else_edits_it(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    browser.client.session.cookie_jar.clear()

    await browser.post(f"{path}/edit", status=404, question="error 810")
    await browser.post(f"{path}/section", status=404, section="c2", message=str(uuid.uuid4()))


@pytest.mark.parametrize(
    ("action", "form"), [("edit", {"question": "pet?"}), ("section", {"section": "c2"})]
)
async def test_without_scripts_it_leads_back_to_the_page(
    browser: Browser, action: str, form: dict[str, str]
) -> None:
    path, _ = await browser.ask("error 809")
    origin = str(browser.client.make_url("/")).rstrip("/")

    response = await browser.client.post(
        f"{path}/{action}", data=form, headers={"Origin": origin}, allow_redirects=False
    )

    assert (response.status, response.headers["Location"]) == (303, "/")
