"""Test the dialog that explains an answer within what its readers may read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.answering.explanations.explainer import Explainer, Explanation, PageSummary
from bot.answering.explanations.steps import StatedConfidence, Step
from bot.domain.errors import StoreUnavailable
from bot.domain.interactions import Interaction, Outcome
from bot.domain.messages import FoundPassage
from bot.platforms.teams.actions import explanation_card, explanation_title
from bot.platforms.teams.payloads.actions import INTERACTION_KEY, SHOW_WHY
from bot.platforms.teams.rendering.text import ACTIVITY_BUDGET, size
from rag.types import Principal
from tests.fakes.desk import ANSWER, PAGE, TRACE, VPN
from tests.fakes.teams import cards
from tests.fakes.teams.builders import Bot
from tests.fakes.teams.cards import check_card
from tests.fakes.teams.interactions import Dialog, dialog_of
from tests.fakes.teams.names import ALICE, BOB, GROUP, GUEST, GUESTS
from tests.fakes.teams.people import chat_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"
READ = replace(
    TRACE,
    passages=(FoundPassage(VPN.chunk_id, VPN.page_id, VPN.title, VPN.section, {"keyword": 5.0}),),
    threshold=0.65,
)
HERS = (frozenset({Principal("user:alice@acme.example")}),)
SURE = StatedConfidence("very confident", "90%", "65%", 90, 65)
EVIL = "<at>Bob</at> [x](https://evil.example) ![i](https://evil.example/i.png) {{DATE(2026)}} *b*"


async def _why(
    bot: Bot, asked: Interaction, person: str = ALICE, about: str | None = None, *, where: str = ""
) -> Dialog:
    """Open the dialog as a client might make it up."""
    named = asked.id if about is None else about
    data = {"name": SHOW_WHY, INTERACTION_KEY: named, "msteams": {"type": "task/fetch"}}
    reply = bot.reply(asked)
    answer = await bot.invoke(reply, "task/fetch", {"data": data}, person, where=where)
    shown = dialog_of(reply, answer.body)
    assert shown is not None
    return shown


async def test_the_button_opens_an_explanation_with_pages(bot: Bot) -> None:
    asked = await bot.answered(Outcome(ANSWER, READ))
    shown = await bot.person(BOB).open(bot.reply(asked), "Why this answer")
    assert shown.title == "Why this answer"
    assert "vpn down?" in shown.shown
    assert "Pages I read" in shown.shown
    assert f"]({VPN.url})" in shown.shown


@pytest.mark.parametrize("person", [ALICE, BOB])
async def test_in_a_channel_only_what_everyone_may_read_is_named(bot: Bot, person: str) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(Outcome(ANSWER, READ))
    shown = (await _why(bot, asked, person)).shown
    assert "VPN guide" not in shown
    assert "Pages that you can't read or that have changed since are left out" in shown


async def test_in_private_the_asker_sees_what_they_may_read(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(Outcome(ANSWER, READ), where=chat_of(ALICE))
    assert "VPN guide" in (await _why(bot, asked)).shown


async def test_anothers_private_answer_is_not_explained(bot: Bot) -> None:
    asked = await bot.answered(where=chat_of(BOB), person=BOB)
    for where in ("", chat_of(ALICE)):
        shown = await _why(bot, asked, ALICE, where=where)
        assert "That question is no longer here" in shown.words


async def test_guests_are_not_told_why(bot: Bot) -> None:
    asked = await bot.answered(Outcome(ANSWER, READ), where=GUESTS)
    shown = await _why(bot, asked, GUEST)
    assert ("Only colleagues" in shown.words, shown.card) == (True, {})


@pytest.mark.parametrize("about", ["", "nothing", UNKNOWN])
async def test_what_is_gone_is_told(bot: Bot, about: str) -> None:
    asked = await bot.answered()
    assert "no longer" in (await _why(bot, asked, about=about)).words


async def test_what_was_asked_elsewhere_is_not_explained_here(bot: Bot) -> None:
    asked = await bot.answered()
    assert "That question is no longer here" in (await _why(bot, asked, BOB, where=GROUP)).words


async def test_an_explanation_that_fails_is_told_in_words(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await bot.answered()

    async def fails(*_: object, **__: object) -> None:
        raise StoreUnavailable("db.internal is gone")

    monkeypatch.setattr(Explainer, "explain", fails)
    words = (await _why(bot, asked)).words
    assert "try again" in words
    assert "db.internal" not in words


def _explanation(text: str, pages: int) -> Explanation:
    page = PageSummary(text, text, "https://wiki.example.com/vpn", text)
    steps = tuple(Step(text, text) for _ in range(8))
    return Explanation(text, text, steps, replace(SURE, words=text), (page,) * pages, text)


@given(st.one_of(st.text(max_size=4_000), st.just(EVIL * 200)), st.integers(0, 5))
def test_whatever_is_explained_fits_and_is_a_card_that_teams_takes(text: str, pages: int) -> None:
    shown = explanation_card(_explanation(text, pages))
    check_card(dict(shown))
    assert size(shown) < ACTIVITY_BUDGET
    assert len(explanation_title(_explanation(text, 0))) <= 61


def test_what_does_not_fit_is_said_to_be_cut() -> None:
    assert "doesn't fit" in cards.words(explanation_card(_explanation("word " * 1_000, 5)))


def test_nothing_in_an_explanation_is_live_but_our_own_links() -> None:
    shown = cards.words(explanation_card(_explanation(EVIL, 1)))
    assert "](https://wiki.example.com/vpn)" in shown
    assert "<at>" not in shown
    assert "{{" not in shown
    assert "](https://evil" not in shown
    assert "https://evil" not in shown
