"""The web chat over real HTTP: what is answered, shown and kept."""

from __future__ import annotations

import re

import pytest

from bot.store.database import Store
from bot.web.chat.stored_pages import QUOTES_GONE, QUOTES_SHOWN
from rag.types import Principal
from tests.bot.adapters.web.stand_in import QUOTE, Browser, OnePage


async def test_an_answer_shows_its_quote_and_a_link_that_highlights_it(browser: Browser) -> None:
    _, answer = await browser.ask("vpn says error 809")

    assert f"<p>{QUOTE}</p>" in answer
    link = re.search(r'href="(/pages/[^"]+)"', answer)
    assert link
    page = await browser.get(link.group(1).replace("&amp;", "&"))
    assert f'<mark id="quote">{QUOTE}</mark>' in page
    assert link.group(1).endswith("#quote")
    assert QUOTES_SHOWN in page


async def test_a_page_that_lost_its_quote_says_so(browser: Browser) -> None:
    page = await browser.get("/pages/IT/vpn.md?chunk=c1&quote=Error+810")

    assert QUOTES_GONE in page
    assert "<mark" not in page


async def test_what_is_not_known_says_so_and_offers_a_person(browser: Browser) -> None:
    path, answer = await browser.ask("pet insurance?")

    assert "No sure answer" in answer
    assert "Why no answer" in answer
    assert "Did this help?" not in answer
    handed = await browser.post(f"{path}/person")
    assert "ask a person" in handed


async def test_a_page_that_may_not_be_read_looks_like_one_that_is_not_there(
    browser: Browser, pages: OnePage
) -> None:
    pages.readers = frozenset({Principal("group:hr")})

    hidden = await browser.get("/pages/IT/vpn.md", status=404)
    absent = await browser.get("/pages/IT/none.md", status=404)

    assert hidden == absent
    assert "809" not in hidden


async def test_a_thumb_is_kept_replaced_and_taken_back(browser: Browser, store: Store) -> None:
    path, _ = await browser.ask("error 809")
    interaction = path.rpartition("/")[2]

    async def votes() -> list[str]:
        kept = await store.interactions.feedback(interaction)  # type: ignore[arg-type]  # from a page
        return [feedback.vote for feedback in kept]

    assert 'aria-pressed="true"' in await browser.post(f"{path}/vote", vote="up")
    assert await votes() == ["up"]
    await browser.post(f"{path}/vote", vote="down")
    assert await votes() == ["down"]
    await browser.post(f"{path}/vote", vote="down")
    assert await votes() == []


async def test_a_vote_that_is_none_is_refused(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    await browser.post(f"{path}/vote", status=422, vote="sideways")


async def test_why_is_told_in_words(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")

    why = await browser.get(f"{path}/why")

    assert "right answer at 80%; I answer from 65% up" in why


async def test_the_conversation_is_there_after_a_reload(browser: Browser) -> None:
    await browser.ask("error 809")

    page = await browser.get("/")

    assert "error 809" in page
    assert QUOTE in page


async def test_a_new_conversation_starts_empty(browser: Browser) -> None:
    await browser.ask("error 809")

    await browser.post("/conversations", status=303)

    assert "What can I look up for you?" in await browser.get("/")


async def test_another_visitor_sees_nothing_of_it(browser: Browser) -> None:
    path, _ = await browser.ask("error 809")
    await browser.get(f"{path}/why")

    browser.client.session.cookie_jar.clear()

    await browser.get(path, status=404)
    await browser.get(f"{path}/why", status=404)
    await browser.post(f"{path}/vote", status=404, vote="up")


async def test_a_question_is_shown_as_text(browser: Browser) -> None:
    _, answer = await browser.ask("<script>alert(1)</script> error 809")

    assert "<script>alert" not in answer + await browser.get("/")


@pytest.mark.parametrize("path", ["/chat/x/y", "/chat/x/y/why", "/chat/x/00000000"])
async def test_made_up_ids_are_not_found(browser: Browser, path: str) -> None:
    await browser.get(path, status=404)


async def test_a_page_of_ours_loads_nothing_from_elsewhere_and_has_nothing_inline(
    browser: Browser,
) -> None:
    _, answer = await browser.ask("error 809")
    for page in (await browser.get("/"), await browser.get("/pages/IT/vpn.md"), answer):
        assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=|hx-on", page)


async def test_a_question_back_offers_what_could_be_meant(browser: Browser) -> None:
    _, answer = await browser.ask("which laptop?")

    assert "One question back" in answer
    assert 'data-ask="Laptops: &#34;new&#34;"' in answer
