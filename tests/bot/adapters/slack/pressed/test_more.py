"""The fuller answer: for its asker alone, checked again each time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.platforms.slack.payloads.actions import MORE
from rag.types import Principal
from tests.bot.adapters.saying import PAGE
from tests.bot.adapters.slack.answering import Bot, private_too
from tests.bot.adapters.slack.events import ALICE
from tests.bot.adapters.slack.workspace.names import BOB
from tests.bot.house import until

FULLER = "Your own plan covers it [1]."
HERS = (frozenset({Principal("user:alice@acme.example")}),)


async def test_the_asker_is_shown_the_fuller_answer_with_its_sources(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(private_too())
    await bot.person().click(await bot.told("more that you may read"), MORE)
    shown = await bot.told(FULLER)
    assert "VPN guide" in shown.shown
    assert shown.thread_ts == asked.message.thread.id
    assert bot.whispered(BOB) == []


async def test_pressed_again_it_is_shown_again(bot: Bot) -> None:
    await bot.answered(private_too())
    offer = await bot.told("more that you may read")
    await bot.person().click(offer, MORE)
    await bot.person().click(offer, MORE)
    await until(lambda: len([p for p in bot.whispered() if FULLER in p.shown]) == 2)


async def test_nobody_else_is_shown_it(bot: Bot) -> None:
    asked = await bot.answered(private_too())
    await bot.press(bot.reply(asked), MORE, asked.id, BOB)
    await bot.told("for the one who asked", BOB)
    assert FULLER not in str([post.payload for post in bot.whispered(BOB)])


@pytest.mark.parametrize(
    "changed",
    [
        {"readers": (frozenset({"user:bob@acme.example"}),)},
        {"text": "It says something else now."},
        {"title": "Another page"},
        {"page_id": "other.md"},
    ],
)
async def test_what_may_not_be_read_any_more_is_not_shown(
    bot: Bot, changed: dict[str, object]
) -> None:
    await bot.answered(private_too())
    bot.pages.chunks = [replace(PAGE, **changed)]  # type: ignore[arg-type]  # fields by name
    await bot.person().click(await bot.told("more that you may read"), MORE)
    await bot.told("have changed")
    assert FULLER not in str([post.payload for post in bot.whispered()])


async def test_a_page_that_is_gone_takes_its_quotes_along(bot: Bot) -> None:
    await bot.answered(private_too())
    bot.pages.chunks = []
    await bot.person().click(await bot.told("more that you may read"), MORE)
    await bot.told("have changed")


async def test_while_the_index_is_away_nothing_is_shown(bot: Bot) -> None:
    await bot.answered(private_too())
    bot.pages.broken = True
    await bot.person().click(await bot.told("more that you may read"), MORE)
    await bot.told("can't tell just now")


async def test_an_asker_who_may_not_read_it_any_more_is_shown_nothing(bot: Bot) -> None:
    bot.pages.chunks = [replace(PAGE, readers=HERS)]
    asked = await bot.answered(private_too(), user=BOB)
    await bot.press(bot.reply(asked), MORE, asked.id, BOB)
    await bot.told("have changed", BOB)


async def test_where_there_is_no_more_that_is_said(bot: Bot) -> None:
    asked = await bot.answered()
    await bot.press(bot.reply(asked), MORE, asked.id, ALICE)
    await bot.told("nothing more")
