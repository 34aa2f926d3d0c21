"""A question reaches the desk once, from whatever browser, and its state is told once."""

from __future__ import annotations

import re
import uuid

import pytest
from aiohttp import DummyCookieJar
from aiohttp.test_utils import TestClient

from bot.store.database import Store
from bot.web.chat.routes import MAX_EXCHANGES
from tests.bot.adapters.web.stand_in import QUOTE, Browser, KnowsVpn, exchange_of


@pytest.mark.parametrize("question", ["", "   ", "\n"])
async def test_an_empty_question_is_refused_with_a_hint(browser: Browser, question: str) -> None:
    conversation = await browser.conversation()

    refused = await browser.post(f"/chat/{conversation}", status=422, question=question)

    assert "Type a question first" in refused


async def test_a_question_over_the_limit_is_refused_with_the_limit(browser: Browser) -> None:
    conversation = await browser.conversation()

    refused = await browser.post(f"/chat/{conversation}", status=422, question="x" * 4001)

    assert "4,000" in refused


async def test_a_second_click_asks_the_same_question_not_another(
    browser: Browser, store: Store
) -> None:
    conversation = await browser.conversation()
    name = str(uuid.uuid4())

    first = await browser.post(f"/chat/{conversation}", question="error 809", message=name)
    second = await browser.post(f"/chat/{conversation}", question="error 809", message=name)

    assert exchange_of(first) == exchange_of(second)
    assert len(await store.interactions.answered("default", 10)) <= 1


async def test_a_person_is_asked_for_once_however_often_it_is_clicked(browser: Browser) -> None:
    path, _ = await browser.ask("pet insurance?")

    asked = [await browser.post(f"{path}/person") for _ in range(2)]

    assert exchange_of(asked[0]) == exchange_of(asked[1])


async def test_without_scripts_a_question_still_gets_its_answer(browser: Browser) -> None:
    path = f"/chat/{await browser.conversation()}"
    origin = str(browser.client.make_url("/")).rstrip("/")
    form = {"question": "error 809\r\nand now?"}

    sent = await browser.client.post(
        path, data=form, headers={"Origin": origin}, allow_redirects=False
    )

    assert (sent.status, sent.headers["Location"]) == (303, "/")
    while "What can I look up" in (page := await browser.get("/")) or "working" in page:
        assert '<meta http-equiv="refresh"' in page
    assert QUOTE in page


async def test_without_cookies_a_question_still_gets_its_answer(
    client: TestClient,  # type: ignore[type-arg]  # generic only in stubs
) -> None:
    server = client.server
    forgetful: TestClient = TestClient(server, cookie_jar=DummyCookieJar())  # type: ignore[type-arg]  # generic only in stubs
    async with forgetful:
        page = await (await forgetful.get("/", headers={"Accept": "text/html"})).text()
        path = re.findall(r'hx-post="(/chat/[^"]+)"', page)[0]
        headers = {"Origin": str(forgetful.make_url("/")).rstrip("/"), "HX-Request": "true"}
        sent = await forgetful.post(path, data={"question": "error 809"}, headers=headers)
        place = re.findall(r'hx-get="([^"?]+)', await sent.text())[0]
        while "working" in (answer := await (await forgetful.get(place)).text()):
            pass

    assert QUOTE in answer


async def test_a_state_that_is_known_is_not_sent_again(browser: Browser, desk: KnowsVpn) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await browser.post(f"/chat/{conversation}", question="error 809")
    path = f"/chat/{conversation}/{exchange_of(bubble)}"
    while "step=searching" not in await browser.get(path):
        pass

    assert await browser.get(f"{path}?step=searching", status=204) == ""

    desk.may_answer.set()
    while "working" in (answer := await browser.get(path)):
        pass
    assert QUOTE in answer


async def test_long_conversations_say_that_the_beginning_is_left_out(browser: Browser) -> None:
    conversation = await browser.conversation()
    for number in range(MAX_EXCHANGES):
        await browser.post(f"/chat/{conversation}", question=f"error 809, part {number}")

    assert "Earlier questions" in await browser.get("/")


async def test_a_form_from_elsewhere_is_refused(browser: Browser) -> None:
    conversation = await browser.conversation()

    response = await browser.client.post(
        f"/chat/{conversation}",
        data={"question": "hi"},
        headers={"Origin": "https://evil.example"},
    )

    assert response.status == 403
