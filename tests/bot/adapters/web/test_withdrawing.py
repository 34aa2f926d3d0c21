"""One's own question can be taken back, with everything that came of it."""

from __future__ import annotations

import re

from bot.domain.messages import InteractionId
from bot.store.database import Store
from tests.bot.adapters.web.stand_in import QUOTE, Browser, KnowsVpn, exchange_of

GONE = "This question was withdrawn."


async def test_a_withdrawn_question_and_its_answer_are_not_on_the_page_any_more(
    browser: Browser, store: Store
) -> None:
    path, _ = await browser.ask("error 809")
    shown = await browser.post(f"{path}/withdraw")
    kept = await store.interactions.get(InteractionId(path.rpartition("/")[2]))

    assert GONE in shown
    assert "809" not in shown
    assert 'class="exchange"' not in await browser.get("/")
    assert kept is not None
    assert (kept.message.text, kept.outcome) == ("", None)


async def test_withdrawing_twice_is_the_same_as_once(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    for _ in range(2):
        assert GONE in await browser.post(f"{path}/withdraw")


async def test_work_on_a_withdrawn_question_stops(browser: Browser, desk: KnowsVpn) -> None:
    desk.may_answer.clear()
    conversation = await browser.conversation()
    bubble = await browser.post(f"/chat/{conversation}", question="error 809")
    path = f"/chat/{conversation}/{exchange_of(bubble)}"

    await browser.post(f"{path}/withdraw")
    desk.may_answer.set()

    assert GONE in await browser.get(path)
    assert 'class="exchange"' not in await browser.get("/")


async def test_a_withdrawn_question_has_nothing_to_judge_or_explain(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.post(f"{path}/withdraw")

    await browser.post(f"{path}/vote", status=404, vote="up")
    await browser.get(f"{path}/why", status=404)


async def test_the_control_is_on_the_page_and_works_without_scripts(browser: Browser) -> None:
    await browser.ask("error 809")
    (form,) = re.findall(r'<form class="withdraw"[^>]+ action="([^"]+)"', await browser.get("/"))
    origin = str(browser.client.make_url("/")).rstrip("/")

    sent = await browser.client.post(form, headers={"Origin": origin}, allow_redirects=False)

    assert (sent.status, sent.headers["Location"]) == (303, "/")
    assert QUOTE not in await browser.get("/")


async def test_nobody_else_withdraws_it(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    elsewhere = {"Origin": "https://evil.example"}
    forged = await browser.client.post(f"{path}/withdraw", headers=elsewhere)
    browser.client.session.cookie_jar.clear()
    await browser.get("/")
    await browser.post(f"{path}/withdraw", status=404)
    kept = await store.interactions.get(InteractionId(path.rpartition("/")[2]))

    assert forged.status == 403
    assert kept is not None
    assert kept.message.text == "error 809"
