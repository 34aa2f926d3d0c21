"""Tests of the page on which a person lets others see their questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.domain.messages import Person
from bot.learning.digest import Subscription
from bot.learning.question_words import Asked, QuestionWords, Viewer
from bot.store.database import Store
from bot.web.auth.identity import VISITOR_COOKIE
from bot.web.chat import account
from tests.fakes.builders import NOON
from tests.fakes.chat_app import Browser
from tests.fakes.chat_context import ReadsEverything
from tests.fakes.personal_data import TWIN, leave_traces, personal_data
from tests.unit.bot.learning.test_question_words import LENA


async def test_a_switch_lets_others_see_ones_own_questions_alone(
    browser: Browser, store: Store
) -> None:
    await browser.ask("vpn says error 809")
    (asked,) = await store.interactions.answered("default", 1)
    words = QuestionWords(store.escalations, store.notes, ReadsEverything())

    async def is_known() -> bool:
        mine = Asked(asked.id, asked.message.author.id, asked.message.author.id)
        other = Asked(asked.id, "other", "other")
        viewer = Viewer(LENA.ids, LENA.reader)
        assert not await words.known("default", [other], viewer, {})
        return bool(await words.known("default", [mine], viewer, {}))

    assert 'value="on"' in await browser.get("/me")
    assert not await is_known()
    await browser.post("/me", 303, share="on")
    assert 'value="off"' in await browser.get("/me")
    assert await is_known()
    await browser.post("/me", 303, share="off")
    assert not await is_known()
    await browser.post("/me", 422, share="perhaps")


async def test_a_digest_by_mail_ends_by_a_word(
    browser: Browser, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "person_of", lambda _: Person("zoe", email="Zoe@acme.example"))
    mail = Subscription("email:zoe@acme.example", "Ada", NOON, email="zoe@acme.example")
    await store.digests.subscribe("default", mail, actor="board:root")

    assert "Turn off the digest" in await browser.get("/me")
    await browser.post("/me", 303, digest="off")

    assert "Turn off the digest" not in await browser.get("/me")
    found = await store.digests.one("default", mail.target)
    assert found is not None
    assert found.off


async def test_a_person_has_their_own_data_alone_forgotten(
    browser: Browser, store: Store, tmp_path: Path
) -> None:
    await leave_traces(store, TWIN)
    await browser.ask("vpn says error 809")
    (asked,) = [
        each
        for each in await store.interactions.answered("default", 9)
        if each.message.text == "vpn says error 809"
    ]
    visitor = asked.message.author.id

    assert "records" in await browser.get("/me/forget")
    await browser.post("/me/forget", 303)
    assert not await store.forgetting.open_requests("default")

    assert "being deleted" in await browser.post("/me/forget", 200, agreed="yes")

    (request,) = await store.forgetting.open_requests("default")
    assert request.keys.ids == {visitor}
    cookies = browser.client.session.cookie_jar.filter_cookies(browser.client.make_url("/"))
    assert VISITOR_COOKIE not in cookies
    personal = personal_data(store, tmp_path)
    await personal.run()
    for each in await store.work.unfinished():
        await store.work.cancelled(each.id)
    await personal.run()
    assert await store.interactions.get(asked.id) is None


async def test_the_admin_token_is_nobody_to_forget(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "person_of", lambda _: Person("admin"))
    await browser.get("/me/forget", 403)
    await browser.post("/me/forget", 403, agreed="yes")
